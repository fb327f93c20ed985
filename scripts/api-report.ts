/**
 * Renders docs/api-report.md (`npm run docs`): every export of the package and every member of the
 * SDK's interfaces, one per line, so that reviews show changes of the public API.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vitest/node";
import { ROOT } from "./tools.ts";

/** The package's entry points, by import specifier. */
const ENTRIES: Readonly<Record<string, string>> = {
  batonpass: "src/index.ts",
  "batonpass/client": "src/client/index.ts",
  "batonpass/testing": "src/testing/index.ts",
  "batonpass/store-contract": "store-contract/index.ts",
};

/** The main interfaces in this order; all others follow. */
const MAIN_INTERFACES = ["Hub", "Agent", "Work", "Offer", "Sent"];

export interface Member {
  readonly name: string;
  readonly signature: string;
}

type Statement = ReturnType<typeof parseAst>["body"][number];

const parseFile = (
  file: string,
): { readonly text: string; readonly body: readonly Statement[] } => {
  const text = readFileSync(join(ROOT, file), "utf8");
  return { text, body: parseAst(text, { lang: "ts" }).body };
};

/** Returns the named exports of a module: `type X`, or `X` for a value. */
export function exportsOf(file: string): string[] {
  return parseFile(file)
    .body.flatMap((statement) => {
      if (statement.type !== "ExportNamedDeclaration") return [];
      const ofType = statement.exportKind === "type";
      const named = statement.specifiers.map((specifier) => {
        const { exported, exportKind } = specifier as typeof specifier & { exportKind?: string };
        const name = exported.type === "Identifier" ? exported.name : String(exported.value);
        return ofType || exportKind === "type" ? `type ${name}` : name;
      });
      return [...named, ...declaredIn(statement.declaration)];
    })
    .sort((a, b) => plainName(a).localeCompare(plainName(b), "en"));
}

const plainName = (name: string): string => name.replace(/^type /, "");

function declaredIn(declaration: unknown): string[] {
  const { type, id, declarations } = (declaration ?? {}) as {
    readonly type?: string;
    readonly id?: { readonly name: string };
    readonly declarations?: readonly { readonly id: { readonly name: string } }[];
  };
  if (type === undefined) return [];
  if (declarations !== undefined) return declarations.map((each) => each.id.name);
  return id === undefined
    ? []
    : [/^TS(Interface|TypeAlias)/.test(type) ? `type ${id.name}` : id.name];
}

/** Returns every exported interface of the SDK, with its members as they are in the source. */
export function interfaces(): ReadonlyMap<string, readonly Member[]> {
  const found = new Map<string, readonly Member[]>();
  for (const file of globSync("src/hub/**/*.ts", { cwd: ROOT }).sort()) {
    const { text, body } = parseFile(file);
    for (const statement of body) {
      if (statement.type !== "ExportNamedDeclaration") continue;
      const { declaration } = statement;
      if (declaration?.type !== "TSInterfaceDeclaration") continue;
      found.set(declaration.id.name, membersOf(declaration, text));
    }
  }
  return found;
}

function membersOf(declaration: unknown, text: string): Member[] {
  const { body, extends: parents } = declaration as {
    readonly body: { readonly body: readonly { readonly start: number; readonly end: number }[] };
    readonly extends: readonly { readonly start: number; readonly end: number }[];
  };
  const inherited = parents.map(({ start, end }) => {
    const name = text.slice(start, end);
    return name === "AsyncDisposable"
      ? { name: "[Symbol.asyncDispose]", signature: "[Symbol.asyncDispose](): Promise<void>" }
      : { name: `...${name}`, signature: `...${name}` };
  });
  const own = body.body.map(({ start, end }) => {
    const signature = text.slice(start, end).replace(/;$/, "").replaceAll(/\s+/g, " ");
    return { name: /^(?:readonly )?([\w$]+)/.exec(signature)?.[1] ?? signature, signature };
  });
  return [...own, ...inherited];
}

/** Counts members; overloads count once. */
export const countOf = (members: readonly Member[]): number =>
  new Set(members.map(({ name }) => name)).size;

export function renderApiReport(): string {
  const entries = Object.entries(ENTRIES).filter(([, file]) => existsSync(join(ROOT, file)));
  const listed = entries.map(([name, file]) => {
    const exported = exportsOf(file);
    return [`## ${name}: ${exported.length} exports`, "", exported.join(", ")].join("\n");
  });
  const all = interfaces();
  const names = [
    ...MAIN_INTERFACES,
    ...[...all.keys()].filter((name) => !MAIN_INTERFACES.includes(name)).sort(),
  ];
  const described = names.map((name) => {
    const members = all.get(name) ?? [];
    const lines = members.map(({ signature }) => signature);
    return [`### ${name}: ${countOf(members)} members`, "", "```ts", ...lines, "```"].join("\n");
  });
  return `${[INTRODUCTION, ...listed, "## Interfaces", ...described].join("\n\n")}\n`;
}

const INTRODUCTION = `# API report

<!-- Written by \`npm run docs\` from the sources; a test compares it. -->

Every export of the package, and every member of the interfaces that programs use.`;

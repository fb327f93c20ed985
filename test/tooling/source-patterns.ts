/**
 * The regular expressions in the sources: literals, and `new RegExp(…)` with the constants of its module filled
 * in. A part that is known only at run time counts as a plain letter: such parts are escaped or names.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "rolldown/parseAst";

export interface SourcePattern {
  readonly source: string;
  readonly flags: string;
  /** The files that contain it, relative to src/. */
  readonly files: readonly string[];
}

interface AstNode {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Returns each pattern of the files under `root` that pass the filter, once. */
export function sourcePatterns(
  root: string,
  isChecked: (file: string) => boolean,
): SourcePattern[] {
  const found = new Map<string, { source: string; flags: string; files: string[] }>();
  const files = readdirSync(root, { recursive: true, encoding: "utf8" });
  for (const file of files.filter((each) => each.endsWith(".ts") && isChecked(each)).sort()) {
    const code = readFileSync(join(root, file), "utf8");
    const tree = parseAst(code, { lang: "ts" }, file) as unknown as AstNode;
    for (const { source, flags } of patternsIn(tree)) {
      const key = `/${source}/${flags}`;
      const known = found.get(key) ?? { source, flags, files: [] };
      if (!known.files.includes(file)) known.files.push(file);
      found.set(key, known);
    }
  }
  return [...found.values()];
}

type Pattern = Pick<SourcePattern, "source" | "flags">;

function patternsIn(tree: AstNode): Pattern[] {
  const constants = new Map<string, AstNode>();
  const patterns: Pattern[] = [];
  visit(tree, (node) => {
    const { id, init } = node as { readonly id?: AstNode; readonly init?: AstNode };
    if (node.type === "VariableDeclarator" && id?.type === "Identifier" && init) {
      constants.set(String(id["name"]), init);
    }
  });
  visit(tree, (node) => {
    const pattern = literalOf(node) ?? constructedOf(node, constants);
    if (pattern !== undefined) patterns.push(pattern);
  });
  return patterns;
}

function visit(value: unknown, see: (node: AstNode) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, see);
  else if (typeof value === "object" && value !== null) {
    if ("type" in value) see(value as AstNode);
    for (const field of Object.values(value)) visit(field, see);
  }
}

function literalOf(node: AstNode): Pattern | undefined {
  const regex = node["regex"] as { readonly pattern: string; readonly flags: string } | undefined;
  if (node.type !== "Literal" || !regex) return undefined;
  return { source: regex.pattern, flags: regex.flags };
}

function constructedOf(
  node: AstNode,
  constants: ReadonlyMap<string, AstNode>,
): Pattern | undefined {
  const callee = node["callee"] as AstNode | undefined;
  if (node.type !== "NewExpression" || callee?.["name"] !== "RegExp") return undefined;
  const [source, flags] = node["arguments"] as readonly (AstNode | undefined)[];
  return {
    source: textOf(source, constants),
    flags: flags === undefined ? "" : textOf(flags, constants),
  };
}

/** What is not known before run time. */
const UNKNOWN = "x";

/** Returns the text that an expression evaluates to. */
function textOf(node: AstNode | undefined, constants: ReadonlyMap<string, AstNode>): string {
  switch (node?.type) {
    case "Literal":
      return String(node["value"]);
    case "Identifier": {
      const value = constants.get(String(node["name"]));
      return value === undefined ? UNKNOWN : textOf(value, constants);
    }
    case "TemplateLiteral": {
      const quasis = node["quasis"] as readonly { readonly value: { readonly cooked: string } }[];
      const parts = (node["expressions"] as readonly AstNode[]).map((each) =>
        textOf(each, constants),
      );
      return quasis.map(({ value }, i) => value.cooked + (parts[i] ?? "")).join("");
    }
    case "BinaryExpression":
      return [node["left"], node["right"]]
        .map((side) => textOf(side as AstNode, constants))
        .join("");
    default:
      return UNKNOWN;
  }
}

/** Hints name SDK methods; the other interfaces replace them with their own commands and routes. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAst } from "vitest/node";
import { rewriteCalls, withCommands, withRoutes } from "../../src/operations/wire/hint-words.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** Hints about what no command can do: keys, code and effects of a program, enabling an agent. */
const WITHOUT_COMMAND =
  /effects\.(resolve|run)\(|payloadTypes\.define\(|\{ key \}|status: "active"/;
/** Hints about what no route can do. */
const WITHOUT_ROUTE = /effects\.run\(|archive\.export\(|payloadTypes\.define\(/;

/** Returns the text of a string or template literal; a placeholder stands for each value. */
function textOf(node: unknown): string[] {
  const { type, value, quasis, consequent, alternate } = node as {
    type: string;
    value?: unknown;
    quasis?: readonly { value: { cooked: string } }[];
    consequent?: unknown;
    alternate?: unknown;
  };
  if (type === "Literal" && typeof value === "string") return [value];
  if (quasis !== undefined) return [quasis.map((each) => each.value.cooked).join("x")];
  return type === "ConditionalExpression" ? [...textOf(consequent), ...textOf(alternate)] : [];
}

/** Returns every hint in the sources of the layers below the interfaces. */
function hintsOfErrors(): string[] {
  const hints: string[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const each of node) visit(each);
    else if (typeof node === "object" && node !== null) {
      const { type, key, value } = node as {
        type?: string;
        key?: { name?: string };
        value?: never;
      };
      if (type === "Property" && key?.name === "hint") hints.push(...textOf(value));
      for (const [name, child] of Object.entries(node)) if (name !== "parent") visit(child);
    }
  };
  for (const file of globSync("src/**/*.ts", { cwd: ROOT })) {
    if (/^src\/(cli|mcp|harness|testing)\//.test(file)) continue;
    visit(parseAst(readFileSync(join(ROOT, file), "utf8"), { lang: "ts" }).body);
  }
  return hints;
}

function callsIn(text: string): string[] {
  const names: string[] = [];
  rewriteCalls(text, ({ name }) => {
    names.push(name);
    return undefined;
  });
  return names;
}

describe("hints of an interface", () => {
  it("name a command instead of an SDK call [OPS-7]", () => {
    expect(withCommands('Register it first: hub.agent("ada", { role: "…" }).')).toBe(
      "Register it first: baton agent add ada --role <role>",
    );
    expect(withCommands("List them: hub.deadLetters.list(), or wait.")).toBe(
      "List them: baton dead list, or wait.",
    );
  });

  it("name a route instead of an SDK call [OPS-7]", () => {
    expect(withRoutes('Open it: hub.channels.set("news (a)", "open").')).toBe(
      "Open it: PUT /v1/channels/news%20(a).",
    );
    expect(withRoutes("List them: hub.deadLetters.list().")).toBe(
      "List them: GET /v1/dead-letters.",
    );
  });

  it("keep a call that is incomplete or unknown", () => {
    for (const text of ["See hub.agent(", "See hub.unknown.call().", "The hub. agent (x)"]) {
      expect(withCommands(text)).toBe(text);
      expect(withRoutes(text)).toBe(text);
    }
  });

  it("contain no SDK call, except where no command or route does the same [OPS-7]", () => {
    const hints = hintsOfErrors();
    expect(hints.flatMap(callsIn).length).toBeGreaterThan(40);
    const left = (words: (text: string) => string, allowed: RegExp): string[] =>
      hints.filter((hint) => callsIn(words(hint)).length > 0 && !allowed.test(hint));
    expect(left(withRoutes, WITHOUT_ROUTE)).toEqual([]);
    expect(left(withCommands, WITHOUT_COMMAND)).toEqual([]);
  });
});

/** The JSON and TOML editors, which change one place in a settings file of another program. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffOf } from "../../src/harness/setup/file-changes.ts";
import { type Json, removeAt, setAt, valueAt } from "../../src/harness/setup/json-edit.ts";
import { readToml, tomlAt, withBlock, withoutBlock } from "../../src/harness/setup/toml-block.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";

const seed = chosenSeed();

const keys = fc.string({ minLength: 1, maxLength: 6 });
const objects = fc.dictionary(keys, fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>, {
  minKeys: 1,
});
const layouts = fc.constantFrom(
  (value: Json) => JSON.stringify(value),
  (value: Json) => JSON.stringify(value, null, 2),
  (value: Json) => `${JSON.stringify(value, null, "\t")}\n`,
  (value: Json) => JSON.stringify(value, null, 4).replaceAll("\n", "\r\n"),
  (value: Json) => ` ${JSON.stringify(value, null, 1).replaceAll(":", " :")} `,
);

describe("a path in a JSON text", () => {
  it("can be set and removed again, which restores the text [OPS-8]", () => {
    fc.assert(
      fc.property(
        objects,
        layouts,
        keys,
        fc.jsonValue({ maxDepth: 2 }),
        (object, layout, key, value) => {
          fc.pre(!Object.hasOwn(object, key));
          const text = layout(object);
          const path = [key, "inner", 0];
          const set = setAt(text, path, value as Json);
          const parsed = JSON.parse(set);
          expect(valueAt(parsed, path)).toEqual(JSON.parse(JSON.stringify(value)));
          expect({ ...parsed, [key]: undefined }).toEqual({
            ...JSON.parse(text),
            [key]: undefined,
          });
          expect(setAt(set, path, value as Json)).toBe(set);
          expect(removeAt(set, path)).toBe(text);
        },
      ),
      { seed, numRuns: runs(500) },
    );
  });

  it("is replaced in place without any other change [OPS-8]", () => {
    const text = '{\n  "a": [1, 2],\n  "b": {"c": "old", "d" : 1.0}\n}';
    expect(setAt(text, ["b", "c"], "new")).toBe(text.replace("old", "new"));
    expect(setAt(text, ["a", 2], 3)).toBe(text.replace("2]", "2, 3]"));
    expect(removeAt(text, ["a", 0])).toBe(text.replace("1, ", ""));
    expect(removeAt('{"a": {"b": [{"c": 1}]}}', ["a", "b", 0, "c"])).toBeUndefined();
    expect(setAt(undefined, ["a"], 1)).toBe('{\n  "a": 1\n}\n');
    expect(setAt("{}", ["a"], 1)).toBe('{\n  "a": 1\n}');
  });
});

describe("a TOML text", () => {
  it.each([
    "\ufeffa = 1",
    "a = 9223372036854775807",
    "a = {\n  b = 1, # one\n}",
    'a = "\\e\\x41"',
    "a = 07:32",
    "__proto__ = 1",
  ])("is read when a harness can read it: %j [OPS-8]", (text) => {
    expect(readToml(`${text}\r\nb = "x"\r\n`, "f")).toMatchObject({ b: "x" });
  });

  it.each([
    'a = "b',
    "a = ",
    "a",
    "= 1",
    "a = 1 2",
    "a = 1\na = 2",
    "[a",
    "[a]\n[a]",
    "a = [1, 2",
    "a = { b = 1",
    'a = "\\q"',
    'a = """x',
    "a = 1\n[a.b]",
    "a = yes",
    "a = 'x\ny'",
    "a = { b = 1 }\n[a.c]",
    "a = { b = 1 }\na.c = 2",
    "a = [{ b = 1 }]\n[a.c]",
    "a = []\n[a.c]",
    "a = [{ b = 1 }]\n[[a]]",
  ])("is refused with the line when it is invalid: %j [OPS-8]", (text) => {
    expect(() => readToml(`ok = 1\n${text}`, "f")).toThrow(
      /^f cannot be read: line [2-4]: [a-z][^\n]+\. Nothing was changed\.$/,
    );
  });

  it.each([
    "",
    "a = 1",
    "a = 1\n",
    "# only a comment",
    "a = 1\n\n\n",
    "a = 1\r\n",
    "[t]\nk = 1\n# end",
  ])("is restored after our block was added and removed: %j [OPS-8]", (text) => {
    const header = ["mcp_servers", "baton"];
    const values = { command: '/a "b"/\u007f', args: ["x", "y\\z"] };
    const added = withBlock(text, "f", header, values);
    expect(added.startsWith(text)).toBe(true);
    expect(tomlAt(readToml(added, "f"), [...header, "command"])).toBe(values.command);
    expect(tomlAt(readToml(added, "f"), [...header, "args"])).toEqual(values.args);
    expect(withBlock(added, "f", header, values)).toBe(added);
    expect(withoutBlock(added, "f") ?? "").toBe(text);
    const followed = `${added}\n[later]\nk = 1\n`;
    const rest = withoutBlock(followed, "f") ?? "";
    expect(rest).toContain("[later]\nk = 1\n");
    expect(readToml(rest, "f")).toEqual(readToml(`${text}\n[later]\nk = 1\n`, "f"));
  });
});

describe("our TOML table", () => {
  const header = ["mcp_servers", "baton"];

  it("may contain a table that others wrote [OPS-8]", () => {
    const theirs = '[mcp_servers.baton.env]\nBATON_STORE = "x"\n';
    const added = withBlock(theirs, "f", header, { command: "node" });
    expect(tomlAt(readToml(added, "f"), [...header, "env", "BATON_STORE"])).toBe("x");
    expect(withoutBlock(added, "f")).toBe(theirs);
  });

  it("keeps what a harness added to it [OPS-8]", () => {
    // Codex writes its new tables before the comments at the end of the file.
    const values = { command: "node", args: ["main.js", "mcp"] };
    const trusted = '[projects."/home/ada/app"]\ntrust_level = "trusted"\n';
    const added = withBlock("model = 'x'\n", "f", header, values);
    const grown = added.replace("# <<< baton", `startup_timeout_sec = 20\n\n${trusted}# <<< baton`);
    expect(withBlock(grown, "f", header, values)).toBe(grown);
    const moved = withBlock(grown, "f", header, { ...values, command: "/new/node" });
    expect(moved).toBe(grown.replace('"node"', '"/new/node"'));
    expect(withoutBlock(grown, "f")).toBe(`model = 'x'\n\n${trusted}`);
  });

  it("stays in place when others write after it [OPS-8]", () => {
    const followed = `${withBlock("a = 1\n", "f", header, { command: "node" })}\n[later]\nk = 1\n`;
    expect(withBlock(followed, "f", header, { command: "node" })).toBe(followed);
    expect(withBlock(followed, "f", header, { command: "bun" })).toBe(
      followed.replace('"node"', '"bun"'),
    );
  });

  it("is removed with complete line endings [OPS-8]", () => {
    const added = withBlock("a = 1\r\n", "f", header, { command: "node" });
    expect(added.replaceAll("\r\n", "")).not.toContain("\n");
    expect(withoutBlock(added, "f")).toBe("a = 1\r\n");
    const mixed = withBlock("a = 1\n", "f", header, { command: "node" });
    expect(withoutBlock(mixed.replaceAll("\n", "\r\n"), "f")).toBe("a = 1\r\n");
  });

  it.each([
    "[mcp_servers.baton]\n",
    "mcp_servers.baton.command = 'x'\n",
    "mcp_servers.baton.env.BATON_STORE = 'x'\n",
    "mcp_servers.baton = 1\n",
  ])("does not replace one that others wrote: %j [OPS-8]", (theirs) => {
    expect(() => withBlock(theirs, "f", header, { command: "node" })).toThrow(/did not write/);
  });
});

describe("a diff", () => {
  it("shows exactly the added and removed lines [OPS-8]", () => {
    const lines = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, (old, now) => {
        const diff = diffOf({ file: "f", before: old.join("\n"), after: now.join("\n") });
        const count = (kind: string) => diff.filter((line) => line.kind === kind).length;
        const [before, after] = [old, now].map((each) => (each.length === 0 ? 0 : each.length)) as [
          number,
          number,
        ];
        expect(count("added") - count("removed")).toBe(after - before);
        if (old.join() === now.join()) expect(diff).toEqual([]);
      }),
      { seed, numRuns: runs(100) },
    );
    const before = "1\n2\n3\n4";
    const after = "1\nx\n2\n4\ny";
    expect(diffOf({ file: "f", before, after }).map(({ kind, text }) => `${kind} ${text}`)).toEqual(
      ["added x", "removed 3", "added y"],
    );
  });
});

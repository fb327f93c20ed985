/** docs/MCP.md says what is there. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Tool } from "../../src/mcp/tool.ts";
import { TOOLS } from "../../src/mcp/tools/tools.ts";
import { ROOT } from "../support/run-script.ts";

const page = readFileSync(join(ROOT, "docs", "MCP.md"), "utf8");

const rowOf = ({ name, description, input }: Tool): string => {
  const [first = ""] = /^[^.]+\./.exec(description) ?? [];
  const fields = Object.entries(input.shape).map(([field, schema]) =>
    schema.safeParse(undefined).success ? `${field}?` : `**${field}**`,
  );
  return `| \`${name}\` | ${first} | ${fields.join(", ")} |`;
};

it("the page lists every tool with its arguments, as it describes itself", () => {
  const [, listed = ""] = /<!-- tools -->\n([\s\S]*?)<!-- end -->/.exec(page) ?? [];
  const rows = ["| tool | what it does | arguments |", "|---|---|---|", ...TOOLS.map(rowOf)];
  expect(listed.trim()).toBe(rows.join("\n"));
});

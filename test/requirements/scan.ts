// Finds the tests that name requirements by reading the sources: a proof is known without running
// it, and a test that did not run cannot count as one. Ids are in brackets at the end of a title,
// also in the published contract suite, which may not import anything from here. Sources are parsed
// with Vitest's own parser; ids outside a title are reported, so that none is lost.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vitest/node";

export interface TaggedTest {
  readonly file: string;
  readonly line: number;
  readonly title: string;
  readonly ids: readonly string[];
  /**
   * False if the test is or may be skipped, is expected to fail, or has no body: then it proves
   * nothing.
   */
  readonly runs: boolean;
}

export interface MisplacedTag {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

export interface Scan {
  readonly tests: readonly TaggedTest[];
  readonly misplaced: readonly MisplacedTag[];
}

type Statement = ReturnType<typeof parseAst>["body"][number];
type Expression = Extract<Statement, { type: "ExpressionStatement" }>["expression"];
type Call = Extract<Expression, { type: "CallExpression" }>;
type ObjectProperty = Extract<Expression, { type: "ObjectExpression" }>["properties"][number];
type Node = Statement | Expression | Call["arguments"][number];

const SCANNED = ["test/**/*.test.ts", "store-contract/**/*.ts"];
const TAG_AT_END = / \[([A-Z]{3}-\d+(?: [A-Z]{3}-\d+)*)\]$/;
const TAG_LIKE = /\[[^\]]*\b[A-Z]{3}-\d+\b[^\]]*\]/;
const TAG_LIKE_AT_END = /\[[A-Z]{3}-\d+\b[^\]]*\]$/;
const TEST = new Set(["it", "test"]);
const GROUP = new Set(["describe", "suite"]);
const NOT_RUN = new Set(["skip", "skipIf", "runIf", "todo", "fails"]);
const CONDITION = new Set(["IfStatement", "ConditionalExpression", "LogicalExpression"]);

export function scanProofs(root: string): Scan {
  const files = globSync(SCANNED, { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !file.includes("/scratch-")); // Created and deleted by a test.
  const scans = files
    .sort()
    .map((file) => scanSource(file, readFileSync(join(root, file), "utf8")));
  return {
    tests: scans.flatMap((scan) => scan.tests),
    misplaced: scans.flatMap((scan) => scan.misplaced),
  };
}

export function scanSource(file: string, source: string): Scan {
  const tests: TaggedTest[] = [];
  const misplaced: MisplacedTag[] = [];
  const lineOf = (node: Node) => source.slice(0, node.start).split("\n").length;

  function visit(node: Node, skipped: boolean): void {
    const text = stringOf(node, source);
    if (text !== undefined && TAG_LIKE_AT_END.test(text)) {
      misplaced.push({ file, line: lineOf(node), text });
    }
    if (node.type === "CallExpression" && isTest(node, source)) {
      visitTest(node, skipped);
      return;
    }
    const inside = skipped || CONDITION.has(node.type) || isSkippedGroup(node);
    for (const child of children(node)) visit(child, inside);
  }

  function visitTest(call: Call, skipped: boolean): void {
    const text = titleOf(call, source) ?? "";
    const title = text.replace(TAG_AT_END, "");
    const ids = TAG_AT_END.exec(text)?.[1]?.split(" ");
    const line = lineOf(call);
    if (TAG_LIKE.test(title)) misplaced.push({ file, line, text });
    if (ids) tests.push({ file, line, title, ids, runs: !skipped && alwaysRuns(call) });
    for (const argument of call.arguments.slice(1)) visit(argument, skipped);
  }

  for (const statement of parseAst(source, { lang: "ts" }, file).body) visit(statement, false);
  return { tests, misplaced };
}

function isTest(call: Call, source: string): boolean {
  return TEST.has(calledNames(call)[0] ?? "") && titleOf(call, source) !== undefined;
}

function isSkippedGroup(node: Node): boolean {
  if (node.type !== "CallExpression" || !GROUP.has(calledNames(node)[0] ?? "")) return false;
  return hasModifier(node);
}

function alwaysRuns(call: Call): boolean {
  const body = call.arguments.slice(1).filter((argument) => argument.type !== "ObjectExpression");
  return body.length > 0 && !hasModifier(call) && !body.some((node) => skipsItself(node));
}

/**
 * Returns whether a test may not run: `it.skip(…)`, `it.runIf(condition)(…)`, or by its options:
 * `it(…, { skip: true }, …)`.
 */
function hasModifier(call: Call): boolean {
  const options = call.arguments.filter((argument) => argument.type === "ObjectExpression");
  const keys = options.flatMap((option) => option.properties.map(keyOf));
  return [...calledNames(call), ...keys].some((name) => NOT_RUN.has(name));
}

/** Returns whether the body calls `context.skip()`: such a test does not count as a proof. */
function skipsItself(node: Node): boolean {
  if (node.type === "CallExpression" && calledNames(node).at(-1) === "skip") return true;
  return children(node).some(skipsItself);
}

/**
 * Returns the names in a callee, in order: it, skipIf and each for
 * `it.skipIf(condition).each(rows)`.
 */
function calledNames(node: Node): string[] {
  switch (node.type) {
    case "Identifier":
      return [node.name];
    case "MemberExpression":
      if (node.property.type !== "Identifier") return calledNames(node.object);
      return [...calledNames(node.object), node.property.name];
    case "CallExpression":
      return calledNames(node.callee);
    case "TaggedTemplateExpression":
      return calledNames(node.tag);
    default:
      return [];
  }
}

function keyOf(property: ObjectProperty): string {
  return property.type === "Property" && property.key.type === "Identifier"
    ? property.key.name
    : "";
}

function titleOf(call: Call, source: string): string | undefined {
  const first = call.arguments[0];
  return first === undefined ? undefined : stringOf(first, source);
}

function stringOf(node: Node, source: string): string | undefined {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : undefined;
  return node.type === "TemplateLiteral" ? source.slice(node.start + 1, node.end - 1) : undefined;
}

function children(node: Node): Node[] {
  return Object.values(node).flat().filter(isNode);
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

/**
 * Invalid inputs derived from a valid one: every field with values of other types, and every text
 * malformed. A field that is added later is covered as well.
 */

type Input = Readonly<Record<string, unknown>>;

export interface BadInput {
  readonly title: string;
  /** The path that the error must name. */
  readonly path: string;
  readonly input: Input;
}

const WRONG: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["a number", 42],
  ["a boolean", true],
  ["a text", "text"],
  ["a list", ["x", 1]],
  ["an object", { un: "expected" }],
  ["a BigInt", 10n],
  ["a function", () => 1],
  ["a symbol", Symbol("s")],
  ["a Date", new Date(0)],
  ["NaN", Number.NaN],
];

/** Returns `good` with each field replaced by values of every type but its own. */
export function wrongTypes(
  good: Input,
  ownType: Readonly<Record<string, string[]>> = {},
): BadInput[] {
  return Object.entries(good).flatMap(([field, value]) => {
    const right = [typeName(value), ...(ownType[field] ?? [])];
    return WRONG.filter(([name]) => !right.includes(name)).map(([name, wrong]) => ({
      title: `${field} is ${name}`,
      path: field,
      input: { ...good, [field]: wrong },
    }));
  });
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "string":
      return "a text";
    case "number":
      return "a number";
    case "boolean":
      return "a boolean";
    default:
      return "an object";
  }
}

const BROKEN: readonly (readonly [string, string])[] = [
  ["NUL", "\0"],
  ["half a surrogate pair", "\ud83d"],
];

/** Returns `good` with a NUL, and with half a surrogate pair, in each of its texts. */
export function brokenTexts(good: Input): BadInput[] {
  return textsIn(good, []).flatMap((path) =>
    BROKEN.map(([name, broken]) => ({
      title: `${name} in ${formatted(path)}`,
      path: formatted(path),
      input: replacedAt(good, path, broken) as Input,
    })),
  );
}

type Path = readonly (string | number)[];

function textsIn(value: unknown, path: Path): Path[] {
  if (typeof value === "string") return [path];
  if (Array.isArray(value)) return value.flatMap((item, i) => textsIn(item, [...path, i]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => textsIn(item, [...path, key]));
}

function replacedAt(value: unknown, path: Path, broken: string): unknown {
  const [head, ...rest] = path;
  if (head === undefined) return `${value}${broken}`;
  if (Array.isArray(value)) {
    return value.map((item, i) => (i === head ? replacedAt(item, rest, broken) : item));
  }
  const record = value as Record<string, unknown>;
  return { ...record, [head]: replacedAt(record[head], rest, broken) };
}

function formatted(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? part : `${text}.${part}`;
  }, "");
}

/**
 * Returns values that JSON cannot represent or that readers could interpret differently, each with
 * the rule it violates.
 */
export function unjsonable(): readonly (readonly [string, unknown, string])[] {
  const circular: Record<string, unknown> = {};
  circular["self"] = { again: circular };
  const deep = (levels: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level++) value = { in: value };
    return value;
  };
  return [
    ["a BigInt", 10n, "json"],
    ["a function", () => 1, "json"],
    ["a symbol", Symbol("s"), "json"],
    ["a Date", new Date(0), "json"],
    ["a Map", new Map(), "json"],
    ["an object of a class", new (class Own {})(), "json"],
    ["undefined in a list", [undefined], "json"],
    ["NaN", Number.NaN, "finite"],
    ["Infinity", Number.POSITIVE_INFINITY, "finite"],
    ["an unsafe integer", 2 ** 53, "safe_integer"],
    ["NUL in a key", { "a\0": 1 }, "no_nul"],
    ["half a surrogate pair in a key", { "\ud83d": 1 }, "well_formed"],
    ["a key named __proto__", JSON.parse('{"__proto__":1}') as unknown, "reserved_key"],
    ["a value that contains itself", circular, "circular"],
    ["33 more levels", deep(33), "json_depth"],
    ["20,000 levels", deep(20_000), "json_depth"],
  ];
}

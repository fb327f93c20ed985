/**
 * Breaks a valid call in one place: values that are missing, added, of another type, too long or
 * too deep; characters that no text may contain; names with a meaning in JavaScript; ids of other
 * records.
 */
import { randomUUID } from "node:crypto";
import type { Random } from "../../support/random.ts";
import { type Asked, askedBy, type Described, type Said } from "./described.ts";

export interface Spoiled extends Asked {
  readonly kind: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Json = Record<string, unknown>;

const LONG = "x".repeat(200_000);
/** Placeholder for values that JSON.stringify cannot produce; replaced in the serialized text. */
const RAW = "\u0001raw\u0001";

const deep = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;

/** JSON values that no client should send. */
const RAW_VALUES = [
  "1e999",
  "-1e999",
  "-0",
  "123456789012345678901234567890",
  '{"__proto__":{"isAdmin":true}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '"\\ud800"',
  '"\\u0000"',
  '{"a":1,"a":2}',
  deep(100),
  deep(5_000),
  deep(100_000),
] as const;

const WRONG_VALUES = (random: Random, texts: readonly string[]): unknown => {
  const wrong = [
    ...[null, true, false, 0, -1, 1.5, 2 ** 53, -(2 ** 31), 1e21, "", " ", "NaN", "Infinity", "-1"],
    ...["undefined", "null", "__proto__", "constructor", "toString", "\0", "a\0b", "\ud83d"],
    ...["\u202e", "ﷺ".repeat(500), "../../etc/passwd", "*", "%", "' OR 1=1 --", "🎉".repeat(50)],
    ...[[], {}, [[]], [null], { length: 1e9 }, { toJSON: 1 }, Array(2_000).fill("x"), LONG],
    `mem_${randomUUID()}`,
    texts[random.below(texts.length)],
  ];
  return wrong[random.below(wrong.length)];
};

type Spoil = (body: Json, random: Random, texts: readonly string[]) => Json;

/** Returns a copy with a change at one random place. */
function at(body: Json, random: Random, change: (holder: Json, key: string) => void): Json {
  const copy = structuredClone(body);
  let holder: Json = copy;
  for (;;) {
    const keys = Object.keys(holder);
    const key = keys[random.below(keys.length)];
    if (key === undefined) return copy;
    const inside = holder[key];
    const goDeeper = typeof inside === "object" && inside !== null && random.chance(0.6);
    if (!goDeeper) {
      change(holder, key);
      return copy;
    }
    if (Object.keys(inside).length === 0) return copy;
    holder = inside as Json;
  }
}

function put(holder: Json, key: string, value: unknown): void {
  Object.defineProperty(holder, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

const EXTRA = ["__proto__", "constructor", "prototype", "toString", "extra", "", "\0", "a.b", LONG];

const BODIES: Readonly<Record<string, Spoil>> = {
  missing: (body, random) =>
    at(body, random, (holder, key) => {
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
    }),
  wrong: (body, random, texts) =>
    at(body, random, (holder, key) => put(holder, key, WRONG_VALUES(random, texts))),
  raw: (body, random) => at(body, random, (holder, key) => put(holder, key, RAW)),
  extra: (body, random, texts) => {
    const name = random.pick(EXTRA as [string, ...string[]]);
    const copy = structuredClone(body);
    put(copy, name, WRONG_VALUES(random, texts));
    return copy;
  },
  "extra inside": (body, random, texts) =>
    at(body, random, (holder, key) => {
      const inside = holder[key];
      const place = typeof inside === "object" && inside !== null ? (inside as Json) : holder;
      put(place, random.pick(EXTRA as [string, ...string[]]), WRONG_VALUES(random, texts));
    }),
  "spoiled text": (body, random) =>
    at(body, random, (holder, key) => {
      const value = holder[key];
      if (typeof value === "string") holder[key] = value + random.pick(["\0", "\udc00", LONG]);
    }),
};

const HEADERS: readonly (readonly [string, string])[] = [
  ["baton-agent", "nobody"],
  ["baton-agent", ""],
  ["baton-agent", "%00"],
  ["baton-agent", "%E0%A4%A"],
  ["baton-agent", "baton"],
  ["baton-agent", "__proto__"],
  ["baton-agent", "x".repeat(5_000)],
  ["baton-session", "%F0%9F%8E%89"],
  ["baton-session", "../.."],
  ["baton-branch", "no-such-branch"],
  ["baton-branch", "/"],
  ["baton-workspace", "\u00ff\u00fe"],
  ["baton-workspace", "no/such/../workspace"],
  ["authorization", "Bearer baton_AAAA"],
  ["authorization", "Basic YWRhOmFkYQ=="],
  ["authorization", `Bearer baton_${"A".repeat(4_000)}`],
  ["idempotency-key", ""],
  ["idempotency-key", "k".repeat(300)],
  ["idempotency-key", "the same for everything"],
  ["content-type", "text/plain"],
  ["content-type", "application/json; charset=utf-16"],
  ["content-encoding", "gzip"],
  ["accept", "application/x-ndjson"],
  ["host", "evil.example"],
  ["host", ""],
  ["origin", "https://evil.example"],
  ["origin", "null"],
  ["last-event-id", "-1"],
  ["last-event-id", "NaN"],
  ["expect", "something"],
  ["x-forwarded-for", "1.2.3.4"],
];

const PATH_PARTS = [
  ...["%00", "%ff", "%", "%2F", "%2e%2e", "..", ".", "a%20b", "%F0%9F%8E%89", "__proto__", "*"],
  ...["x".repeat(2_000), "constructor", "null", "-1", "%22%3E%3Cscript%3E", "1e999"],
];

const QUERIES = [
  ...["after=-1", "after=1e999", "limit=0", "limit=99999999999", "limit=%22x%22", "x=1&x=1"],
  ...["__proto__=1", "constructor=%7B%7D", "%00=%00", "%ff=%ff", "=", "&&&", "id=1", "waitMs=-1"],
  ...["waitMs=99999999", "task=%5B%5D", "task=null", "cursor=%7B%22a%22%3A1%7D", "limit=NaN"],
  `task=${"x".repeat(10_000)}`,
  `task=${encodeURIComponent(deep(2_000))}`,
  "task=%EF%BF%BF",
  "task=%ED%A0%80",
];

const WHOLE_BODIES = [
  "null",
  "[]",
  '"text"',
  "1",
  "true",
  "{}",
  "",
  " ",
  "{",
  '{"a":',
  deep(50_000),
];

export function spoiled(
  operation: Described,
  said: Said,
  { random, texts }: { readonly random: Random; readonly texts: readonly string[] },
): Spoiled {
  const asked = askedBy(operation, said);
  const good = { ...asked, headers: {} };
  switch (random.below(9)) {
    case 0:
      return { ...good, kind: "valid" };
    case 1: {
      const [name, value] = HEADERS[random.below(HEADERS.length)] as readonly [string, string];
      return { ...good, kind: `header ${name}`, headers: { [name]: value } };
    }
    case 2:
      return { ...good, kind: "path", path: otherPath(operation, said, random) };
    case 3: {
      const [path, query = ""] = asked.path.split("?");
      const more = QUERIES[random.below(QUERIES.length)];
      return { ...good, kind: "query", path: `${path}?${query}&${more}` };
    }
    case 4: {
      const method = random.pick(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]);
      return { ...good, kind: "method", method };
    }
    case 5:
      if (asked.body === undefined) break;
      return { ...good, kind: "body", body: WHOLE_BODIES[random.below(WHOLE_BODIES.length)] };
  }
  return spoiledInput(operation, said, { random, texts });
}

/** Breaks one field of the body, or of the query if there is no body. */
function spoiledInput(
  operation: Described,
  said: Said,
  { random, texts }: { readonly random: Random; readonly texts: readonly string[] },
): Spoiled {
  const kinds = Object.keys(BODIES);
  const kind = kinds[random.below(kinds.length)] as string;
  const spoil = BODIES[kind] as Spoil;
  const where = said.body === undefined ? "query" : "body";
  const changed = spoil((said[where] ?? {}) as Json, random, texts);
  const raw = RAW_VALUES[random.below(RAW_VALUES.length)] as string;
  const asked = askedBy(operation, { ...said, [where]: changed });
  const put = (text: string) =>
    text
      .replaceAll(JSON.stringify(RAW), raw)
      .replaceAll(encodeURIComponent(RAW), encodeURIComponent(raw).slice(0, 4_000));
  return {
    ...asked,
    kind,
    headers: {},
    path: put(asked.path).slice(0, 12_000),
    body: asked.body && put(asked.body),
  };
}

function otherPath({ path }: Described, said: Said, random: Random): string {
  if (random.chance(0.2)) return `/${"a/".repeat(random.below(200))}`;
  if (random.chance(0.2)) return `${path.replace(/[{}]/g, "")}//`;
  const part = () => PATH_PARTS[random.below(PATH_PARTS.length)] as string;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    random.chance(0.7) ? part() : encodeURIComponent(String(said.path[name])),
  );
  return path.includes("{") ? filled : `${filled}/${part()}`;
}

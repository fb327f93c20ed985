/**
 * Secrets in a value: in every text of it, in the names of its fields, and by them, since
 * `{ password: "…" }` says as much as `password=…`. What is found is told by its kind and place; the
 * same value without it is made only where there is something to take out.
 */
import { FORMAT_LIMITS } from "../base/limits.ts";
import { findSecrets, maskMatches, type SecretMatch } from "./secrets.ts";

export interface DetectedSecret {
  /** What it looks like: "GitHub token". */
  readonly kind: string;
  /** `payload.data.url`; a name of a field that is one itself is not repeated: `data.…`. */
  readonly path: string;
}

export interface MaskedValue<T> {
  /** The very value that was given, where nothing was found in it. */
  readonly value: T;
  readonly secrets: readonly DetectedSecret[];
}

export function maskSecrets<T>(value: T, path = ""): MaskedValue<T> {
  if (!holdsSecret(value, "", [])) return { value, secrets: [] };
  const secrets: DetectedSecret[] = [];
  return { value: maskValue(value, { path, name: "" }, secrets) as T, secrets };
}

/** A name that makes what it names one. */
const SECRET_FIELD_NAME = /pass|pwd|secret|token|key|credential/i;
/** A name that is shorter holds none. */
const MIN_NAME_LENGTH = 16;

const findSecretsInField = (text: string, name: string): readonly SecretMatch[] => {
  if (!SECRET_FIELD_NAME.test(name)) return findSecrets(text);
  const before = name.length + 1;
  return findSecrets(`${name}=${text}`)
    .filter(({ at }) => at >= before)
    .map(({ kind, at, end }) => ({ kind, at: at - before, end: end - before }));
};

const findSecretsInName = (name: string): readonly SecretMatch[] =>
  name.length < MIN_NAME_LENGTH ? [] : findSecrets(name);

/** `{ name: "API_KEY", value: "…" }`: what the value is called stands beside it. */
function nameOf(key: string, fields: object): string {
  if (key !== "value") return key;
  const { name, key: called } = fields as { readonly name?: unknown; readonly key?: unknown };
  if (typeof name === "string") return name;
  return typeof called === "string" ? called : key;
}

/** What JSON can carry; the rest is refused by whoever writes it down, with its path. */
const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Array.isArray(value);
};

function holdsSecret(value: unknown, name: string, ancestors: object[]): boolean {
  if (typeof value === "string") return findSecretsInField(value, name).length > 0;
  if (typeof value !== "object" || value === null || !isPlain(value)) return false;
  if (ancestors.length > FORMAT_LIMITS.jsonDepth || ancestors.includes(value)) return false;
  ancestors.push(value);
  const holds = Array.isArray(value)
    ? value.some((item) => holdsSecret(item, name, ancestors))
    : Object.keys(value).some(
        (key) =>
          findSecretsInName(key).length > 0 ||
          holdsSecret((value as Record<string, unknown>)[key], nameOf(key, value), ancestors),
      );
  ancestors.pop();
  return holds;
}

interface FieldPosition {
  readonly path: string;
  /** Of the field it stands in, or of the list. */
  readonly name: string;
  readonly depth?: number;
}

function maskValue(value: unknown, place: FieldPosition, secrets: DetectedSecret[]): unknown {
  const { path, name, depth = 0 } = place;
  if (typeof value === "string")
    return maskText(value, findSecretsInField(value, name), path, secrets);
  if (typeof value !== "object" || value === null || !isPlain(value)) return value;
  if (depth > FORMAT_LIMITS.jsonDepth) return value;
  if (Array.isArray(value)) {
    return value.map((item, i) =>
      maskValue(item, { path: `${path}[${i}]`, name, depth: depth + 1 }, secrets),
    );
  }
  const fields = new Map<string, unknown>();
  for (const [key, item] of Object.entries(value)) {
    const inName = findSecretsInName(key);
    const shown = inName.length === 0 ? key : "…";
    const at = path === "" ? shown : `${path}.${shown}`;
    const safe = uniqueName(fields, maskText(key, inName, at, secrets));
    fields.set(
      safe,
      maskValue(item, { path: at, name: nameOf(key, value), depth: depth + 1 }, secrets),
    );
  }
  return Object.fromEntries(fields);
}

/** Two names may become the same: both fields stay. */
function uniqueName(fields: ReadonlyMap<string, unknown>, name: string): string {
  let [free, n] = [name, 1];
  while (fields.has(free)) free = `${name} ${++n}`;
  return free;
}

/** The text without them; each kind is told once for a place. */
function maskText(
  text: string,
  all: readonly SecretMatch[],
  path: string,
  secrets: DetectedSecret[],
): string {
  if (all.length === 0) return text;
  for (const kind of new Set(all.map((one) => one.kind))) secrets.push({ kind, path });
  return maskMatches(text, all);
}

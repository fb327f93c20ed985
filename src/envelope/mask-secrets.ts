/**
 * Finds and masks secrets in a JSON value: in every text, in field names, and by field name, since `{
 * password: "…" }` reveals as much as `password=…`. Findings state kind and path. The value is copied only if
 * it contains a secret.
 */
import { FORMAT_LIMITS } from "../base/limits.ts";
import { findSecrets, maskMatches, type SecretMatch } from "./secrets.ts";

/** A secret found in a value. */
export interface DetectedSecret {
  /** The kind of secret: "GitHub token". */
  readonly kind: string;
  /** Its path, such as `payload.data.url`; a field name that is itself a secret is shown as `…`. */
  readonly path: string;
}

/** A value without secrets, and the secrets that were found. */
export interface MaskedValue<T> {
  /** The original value, not a copy, if nothing was found. */
  readonly value: T;
  readonly secrets: readonly DetectedSecret[];
}

/** Returns the value with every secret masked. `path` is the path of the value in the input. */
export function maskSecrets<T>(value: T, path = ""): MaskedValue<T> {
  if (!holdsSecret(value, "", [])) return { value, secrets: [] };
  const secrets: DetectedSecret[] = [];
  return { value: maskValue(value, { path, name: "" }, secrets) as T, secrets };
}

/** Field names that mark their value as a secret. */
const SECRET_FIELD_NAME = /pass|pwd|secret|token|key|credential/i;
/** Shorter names cannot contain a secret. */
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

/** For `{ name: "API_KEY", value: "…" }`, returns the name given beside the value. */
function nameOf(key: string, fields: object): string {
  if (key !== "value") return key;
  const { name, key: called } = fields as { readonly name?: unknown; readonly key?: unknown };
  if (typeof name === "string") return name;
  return typeof called === "string" ? called : key;
}

/**
 * Returns true for what JSON can represent; other values are rejected when they are written, with their path.
 */
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
  /** Name of the field or list that contains the value. */
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

/** Two masked names can be equal; both fields are kept. */
function uniqueName(fields: ReadonlyMap<string, unknown>, name: string): string {
  let [free, n] = [name, 1];
  while (fields.has(free)) free = `${name} ${++n}`;
  return free;
}

/** Returns the text without secrets; records each kind once per path. */
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

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
  /** The masked texts that only their context suggests to be secrets. Never stored or shown. */
  readonly ambiguous: readonly string[];
}

interface Found {
  readonly secrets: DetectedSecret[];
  readonly ambiguous: string[];
}

/** A text of a value: a string with the name of its field, or the name of a field with an empty name. */
export interface FieldText {
  readonly text: string;
  readonly name: string;
}

/** Returns the secrets in one text of a value. */
export type FindInField = (field: FieldText) => readonly SecretMatch[];

/**
 * Returns the value with every secret masked. `find` can look up what was found before: the texts are those of
 * textsOf(). Default: searches each text.
 */
export function maskSecrets<T>(value: T, find: FindInField = findInField): MaskedValue<T> {
  if (!someText(value, "", [], (field) => find(field).length > 0))
    return { value, secrets: [], ambiguous: [] };
  const found: Found = { secrets: [], ambiguous: [] };
  return { value: maskValue(value, { path: "", name: "", find }, found) as T, ...found };
}

/** Returns every text of a value in which a secret is searched for. */
export function textsOf(value: unknown): FieldText[] {
  const texts: FieldText[] = [];
  someText(value, "", [], (field) => texts.push(field) === 0);
  return texts;
}

/** Field names that mark their value as a secret. */
const SECRET_FIELD_NAME = /pass|pwd|secret|token|key|credential/i;
/** Shorter names cannot contain a secret. */
const MIN_NAME_LENGTH = 16;

/** Returns the secrets in a text, also those that only the name of its field announces. */
export const findInField: FindInField = ({ text, name }) => {
  if (!SECRET_FIELD_NAME.test(name)) return findSecrets(text);
  const before = name.length + 1;
  return findSecrets(`${name}=${text}`)
    .filter(({ at }) => at >= before)
    .map((match) => ({ ...match, at: match.at - before, end: match.end - before }));
};

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

/** Returns true if a text of the value passes the test; texts after that are not visited. */
function someText(
  value: unknown,
  name: string,
  ancestors: object[],
  test: (field: FieldText) => boolean,
): boolean {
  if (typeof value === "string") return test({ text: value, name });
  if (typeof value !== "object" || value === null || !isPlain(value)) return false;
  if (ancestors.length > FORMAT_LIMITS.jsonDepth || ancestors.includes(value)) return false;
  ancestors.push(value);
  const passes = Array.isArray(value)
    ? value.some((item) => someText(item, name, ancestors, test))
    : Object.keys(value).some(
        (key) =>
          (isLongName(key) && test({ text: key, name: "" })) ||
          someText((value as Record<string, unknown>)[key], nameOf(key, value), ancestors, test),
      );
  ancestors.pop();
  return passes;
}

const isLongName = (name: string): boolean => name.length >= MIN_NAME_LENGTH;

interface FieldPosition {
  readonly path: string;
  /** Name of the field or list that contains the value. */
  readonly name: string;
  readonly depth?: number;
  readonly find: FindInField;
}

function maskValue(value: unknown, place: FieldPosition, found: Found): unknown {
  const { path, name, depth = 0, find } = place;
  if (typeof value === "string") return maskText(value, find({ text: value, name }), path, found);
  if (typeof value !== "object" || value === null || !isPlain(value)) return value;
  if (depth > FORMAT_LIMITS.jsonDepth) return value;
  const below = { find, depth: depth + 1 };
  if (Array.isArray(value)) {
    return value.map((item, i) =>
      maskValue(item, { ...below, path: `${path}[${i}]`, name }, found),
    );
  }
  const fields = new Map<string, unknown>();
  const numbers = new Map<string, number>();
  for (const [key, item] of Object.entries(value)) {
    const inName = isLongName(key) ? find({ text: key, name: "" }) : [];
    const shown = inName.length === 0 ? key : "…";
    const at = path === "" ? shown : `${path}.${shown}`;
    const safe = uniqueName(fields, numbers, maskText(key, inName, at, found));
    fields.set(safe, maskValue(item, { ...below, path: at, name: nameOf(key, value) }, found));
  }
  return Object.fromEntries(fields);
}

/**
 * Two masked names can be equal; both fields are kept. `numbers` has the last number given to each name, so
 * that thousands of equal names are numbered in one pass.
 */
function uniqueName(
  fields: ReadonlyMap<string, unknown>,
  numbers: Map<string, number>,
  name: string,
): string {
  let [free, n] = [name, numbers.get(name) ?? 1];
  while (fields.has(free)) free = `${name} ${++n}`;
  numbers.set(name, n);
  return free;
}

/** Returns the text without secrets; records each kind once per path. */
function maskText(text: string, all: readonly SecretMatch[], path: string, found: Found): string {
  if (all.length === 0) return text;
  for (const kind of new Set(all.map((one) => one.kind))) found.secrets.push({ kind, path });
  for (const { ambiguous, at, end } of all)
    if (ambiguous) found.ambiguous.push(text.slice(at, end));
  return maskMatches(text, all);
}

/**
 * Finds secrets in a text: keys in the format of a provider, private keys, and values in a context that
 * announces a secret. Pure. A finding states kind and position, never the secret.
 * test/envelope/secret-corpus/ measures the error rates.
 *
 * Everything that is stored is checked here: a cheap test for what each pattern requires comes first, and no
 * pattern takes more than linear time.
 */
import { trimEndOf } from "../base/trim-end.ts";
import { isRandomKey } from "./random-looking.ts";
import { SECRET_CONTEXTS, type SecretContext } from "./secret-contexts.ts";
import {
  HINTED_FORMATS,
  type HintedFormat,
  PREFIXED_FORMATS,
  type PrefixedFormat,
} from "./secret-formats.ts";

/** A secret found in a text. */
export interface SecretMatch {
  /** The kind of secret, for people: "GitHub token". */
  readonly kind: string;
  /** Start and end of the secret itself in the text; `end` is exclusive. */
  readonly at: number;
  readonly end: number;
  /** True if only the context suggests a secret: the author can declare the value harmless. */
  readonly ambiguous?: true;
}

/** Shorter texts contain no secret: a password in a context that announces it has this many characters. */
const MIN_LENGTH = 6;

/** Returns every probable secret in a text, in order of position. */
export function findSecrets(text: string): readonly SecretMatch[] {
  if (text.length < MIN_LENGTH) return NONE;
  const found: SecretMatch[] = text.includes("PRIVATE KEY") ? privateKeys(text) : [];
  addKeysOfProviders(text, found);
  for (const context of SECRET_CONTEXTS) {
    if (context.may(text)) found.push(...inContext(text, context));
  }
  return found.length < 2 ? found : removeOverlaps(found, text.length);
}

const NONE: readonly SecretMatch[] = [];

/** One secret can match several patterns; the first match is the most precise. */
function removeOverlaps(found: readonly SecretMatch[], length: number): SecretMatch[] {
  const taken = new Uint8Array(length);
  return found
    .filter(({ at, end }) => {
      if (taken.subarray(at, end).includes(1)) return false;
      taken.fill(1, at, end);
      return true;
    })
    .sort((a, b) => a.at - b.at);
}

/** Returns the text with each match replaced by its kind; the rest is unchanged. */
export function maskMatches(text: string, found: readonly SecretMatch[]): string {
  let rest = "";
  let from = 0;
  for (const { kind, at, end } of found) {
    rest += text.slice(from, at) + redactionMark(kind);
    from = end;
  }
  return rest + text.slice(from);
}

/** The replacement for a secret. It is never detected as a secret itself. */
export const redactionMark = (kind: string): string => `[redacted: ${kind}]`;

function hinted(text: string, { kind, pattern, last }: HintedFormat): SecretMatch[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const [whole, drawn = whole] = match;
    if (!isRandomKey(drawn)) return [];
    const end = match.index + whole.length;
    return [{ kind, at: last ? end - drawn.length : match.index, end }];
  });
}

function inContext(text: string, { pattern, kindOf }: SecretContext): SecretMatch[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const [whole, ...groups] = match;
    const said = groups.at(-1) ?? "";
    const value = trimEndOf(said, "\\"); // The end of a string in JSON within JSON.
    const kind = kindOf(value, groups.length > 1 ? (groups[0] ?? "") : "");
    if (kind === undefined) return [];
    const at = match.index + whole.length - said.length;
    return [{ kind, at, end: at + value.length, ambiguous: true }];
  });
}

/** The header alone, in prose, is not a key: key material must follow. */
const PRIVATE_KEY =
  /-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|[\w-]{1,40}: [^\n\\]{1,80}(?=\n|\\n)){0,20}[A-Za-z0-9+/=]{24}/g;
/** Maximum distance to the end of a key: RSA with 16,384 bits has 13,000 characters. */
const MAX_PRIVATE_KEY_LENGTH = 20_000;
const KEY_END = /-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/;
const KEY_BODY = /[A-Za-z0-9+/=]*(?:(?:\r?\n|(?:\\r)?\\n)[A-Za-z0-9+/=]{16,})*/y;

/** Matches from the first line to the last; a truncated key up to its end. */
function privateKeys(text: string): SecretMatch[] {
  return [...text.matchAll(PRIVATE_KEY)].map(({ 0: whole, index: at }) => {
    const from = at + whole.length;
    const ending = KEY_END.exec(text.slice(from, from + MAX_PRIVATE_KEY_LENGTH));
    if (ending !== null) {
      return { kind: "private key", at, end: from + ending.index + ending[0].length };
    }
    KEY_BODY.lastIndex = from;
    const body = KEY_BODY.exec(text)?.[0] ?? "";
    return { kind: "private key", at, end: from + body.length };
  });
}

interface PrefixEntry {
  readonly prefix: string;
  readonly format: PrefixedFormat;
}

/** By their first two characters, in the order of the list. */
const PREFIXES = Map.groupBy(
  PREFIXED_FORMATS.flatMap((format) =>
    format.prefixes.split(" ").map((prefix): PrefixEntry => ({ prefix, format })),
  ),
  ({ prefix }) => prefix.slice(0, 2),
);

/** Length of the shortest unbroken run in a key with a prefix, and in one without. */
const MIN_RUN_LENGTH = 16;
const MIN_HINTED_RUN_LENGTH = 24;

/** Indexed by character code: 1 for letters, digits, `_` and `-`. */
const OF_RUN = Uint8Array.from({ length: 128 }, (_, code) =>
  /[\w-]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/**
 * Adds the keys in a fixed format. A key begins at the start of an unbroken run of letters, digits, `_` and
 * `-`, or after a `-` in it, so 4 KB of base64 offer few positions. Searches for runs backwards from where one
 * would end: the next run can begin only after the character that broke the last one, so in prose about every
 * fifth character is read. Without a run of some length there is no key.
 */
function addKeysOfProviders(text: string, found: SecretMatch[]): void {
  let ends: Map<PrefixedFormat, number> | undefined;
  let isLong = false;
  let from = 0;
  for (let last = MIN_RUN_LENGTH - 1; last < text.length; last = from + MIN_RUN_LENGTH - 1) {
    let at = last;
    while (at >= from && OF_RUN[text.charCodeAt(at)] === 1) at--;
    if (at >= from) {
      from = at + 1;
      continue;
    }
    let end = last + 1;
    while (end < text.length && OF_RUN[text.charCodeAt(end)] === 1) end++;
    ends ??= new Map();
    for (let start = from; start < end; start = afterDash(text, start, end)) {
      const match = keyAt(text, start, ends);
      if (match !== undefined) found.push(match);
    }
    isLong ||= end - from >= MIN_HINTED_RUN_LENGTH;
    from = end + 1;
  }
  if (!isLong) return;
  for (const format of HINTED_FORMATS) {
    if (text.includes(format.hint)) found.push(...hinted(text, format));
  }
}

/** Returns the position after the next `-` before `end`, or `end`. */
function afterDash(text: string, from: number, end: number): number {
  let at = from;
  while (at < end && text.charCodeAt(at) !== DASH) at++;
  return Math.min(at + 1, end);
}

const DASH = "-".charCodeAt(0);

/** `ends` has the end of each format's last match, so that no format reads a text twice. */
function keyAt(
  text: string,
  at: number,
  ends: Map<PrefixedFormat, number>,
): SecretMatch | undefined {
  const entry = PREFIXES.get(text.slice(at, at + 2))?.find(({ prefix }) =>
    text.startsWith(prefix, at),
  );
  if (entry === undefined) return undefined;
  const { kind, body } = entry.format;
  if ((ends.get(entry.format) ?? 0) > at) return undefined;
  body.lastIndex = at + entry.prefix.length;
  const [whole, drawn = whole] = body.exec(text) ?? [];
  if (whole === undefined || drawn === undefined) return undefined;
  const end = at + entry.prefix.length + whole.length;
  ends.set(entry.format, end);
  return isRandomKey(drawn) ? { kind, at, end } : undefined;
}

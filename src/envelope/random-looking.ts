/**
 * Judges whether a value looks like a secret: drawn at random, or chosen as a password, and not a placeholder,
 * an expression or a name. Pure. In doubt it does not: people who get false warnings stop reading warnings.
 */

/** Placeholders: `<password>`, `${TOKEN}`, `your-key-here`, `xxxx`. */
const PLACEHOLDER =
  /example|placeholder|change-?me|redacted|replace|insert|dummy|sample|your|here$|\.\.\.|…|xxx|12345678|abcdefgh|\*\*|^[$%<{[!&]|[$%]\{|^(?:null|none|undefined|true|false|string|number|boolean|unknown)\b/i;
/** Passwords that only stand for one. */
const STAND_IN =
  /^(?:pass(?:word|wd)?|secret|token|test|admin|hunter|letmein|qwerty|abc|foo|bar)[\d!@#$_-]{0,4}$/i;
/**
 * Expressions that refer to a secret without containing it: `process.env.TOKEN`, `options.apiKey`,
 * `config->password`.
 */
const EXPRESSION = /^[a-z_$][\w$]*(?:(?:\.|->|::|\?\.)[a-z_$][\w$]*)+$/i;
/** Part of a token, not of an expression: long, with digits. */
const RANDOM_PART = /[a-z]\d[\w$]{0,64}\d|\w{32}/i;
/** Locations of a secret: a vault path, a cloud resource name, a file. */
const SECRET_LOCATION =
  /^(?:arn|https?|op|ssm|vault|file|env|projects?|secret)[:/]|^\.{0,2}\/[\w.-]+\//i;
/** Password hashes: what is stored so that the password is not. */
const PASSWORD_HASH = /^\$(?:argon2\w{0,2}|2[aby]|5|6|y|scrypt|pbkdf2[\w-]{0,16})\$/;
/** Baton ids, which look random because they are. */
const BATON_ID = /^[a-z]{3}_[0-9a-f-]{36}/;

const isLiteralValue = (value: string): boolean =>
  ![PLACEHOLDER, STAND_IN, SECRET_LOCATION, PASSWORD_HASH, BATON_ID].some((form) =>
    form.test(value),
  ) && !(EXPRESSION.test(value) && !RANDOM_PART.test(value));

/** Placeholders within a long key. Shorter words occur by chance in about one of a hundred keys. */
const KEY_PLACEHOLDER =
  /example|placeholder|change-?me|redacted|replace|your[-_]|x{5}|0{8}|\*{3}|\.\.\.|…/i;

/** Returns true if the variable part of a provider's key seems random. */
export const isRandomKey = (value: string): boolean =>
  !KEY_PLACEHOLDER.test(value) && entropy(value) >= 2.8 && !isWords(value);

const CASE_CHANGES = /[a-z](?=[A-Z])|[A-Z](?=[a-z])/g;
const caseChanges = (value: string): number => value.match(CASE_CHANGES)?.length ?? 0;

/** Returns true for a long value with several kinds of characters and high entropy. */
export function isRandom(value: string): boolean {
  if (value.length < 16 || !isLiteralValue(value)) return false;
  const isMixed = /\d/.test(value) ? /[A-Za-z]/.test(value) : caseChanges(value) >= 6;
  return isMixed && entropy(value) >= 3 && !isWords(value) && !isName(value);
}

/** Like isRandom(), for a value that only follows a word, as in prose: no name and no date passes. */
export const isCertainlyRandom = (value: string): boolean =>
  value.length >= 20 &&
  isRandom(value) &&
  /[A-Za-z]\d|\d[A-Za-z]/.test(value) &&
  !value.includes(":") &&
  (!value.includes("/") || caseChanges(value) >= 5);

/**
 * Returns true if a value looks like a password. People choose passwords, so shorter values count unless they
 * are words.
 */
export function isPassword(value: string): boolean {
  if (value.length < 8 || !isLiteralValue(value)) return false;
  const isMixed = /[\d!#$%&*+?@^~]/.test(value) || caseChanges(value) >= 3;
  return (
    kindsOf(value) >= 2 && isMixed && entropy(value) >= 2.5 && !isWords(value) && !isName(value)
  );
}

/** Like isPassword(), for a value in prose: with letters of both cases, digits or symbols. */
export const isCertainlyPassword = (value: string): boolean =>
  kindsOf(value) >= 3 && /[A-Za-z]/.test(value) && /\d/.test(value) && isPassword(value);

const KINDS = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/];
const kindsOf = (value: string): number => KINDS.filter((kind) => kind.test(value)).length;

/** Words and numbers with separators, as people name things: `2026-03-rotation-policy`. */
const isWords = (value: string): boolean =>
  /^(?:[A-Za-z]{3,}|\d{1,4})(?:[-_./:](?:[A-Za-z]{2,}|\d{1,4}))+[.:]?$/.test(value);

/** Words without separators, as types and functions are named: `BinaryLike`, `isCertainlyRandom`. */
const CAMEL_CASE = /^[a-z]{0,16}(?:[A-Z]{1,5}[a-z]{2,16})+$/;

/** Words of one case with at most short numbers: `acme-ci-token-v3`, `X-Acme-Api-Key-V2`, `kv-prod-weu-01`. */
const isName = (value: string): boolean => CAMEL_CASE.test(value) || SEPARATED_WORDS.test(value);
const SEPARATED_WORDS =
  /^(?:[A-Z]?[a-z]{1,16}|[A-Z]{1,15})\d{0,4}(?:[-_./:#](?:(?:[A-Z]?[a-z]{1,16}|[A-Z]{1,15})\d{0,4}|\d{1,4}))+$/;

/**
 * Returns the entropy in bits per character: 0 for one repeated character, about 4 or more for random values.
 */
function entropy(value: string): number {
  const counts = new Map<string, number>();
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values())
    bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}

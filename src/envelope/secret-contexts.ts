/**
 * Contexts that announce a secret whose value has no fixed format: `DB_PASSWORD=…`, `--token …`,
 * `curl -u user:…`, `the password is …`, passwords in URLs and authorization headers. What follows must look
 * random, or like a password. These findings are ambiguous: a value next to such a word can be harmless.
 */
import { isCertainlyPassword, isCertainlyRandom, isPassword, isRandom } from "./random-looking.ts";

/** A context. The last group is the value, at the end of the match; a group before it is the announcing word. */
export interface SecretContext {
  /** Returns false if the text cannot contain a match; cheap. */
  readonly may: (text: string) => boolean;
  readonly pattern: RegExp;
  /** Returns the kind of secret, or undefined if the value is none. */
  readonly kindOf: (value: string, word: string) => string | undefined;
}

const includes =
  (...parts: readonly string[]) =>
  (text: string): boolean =>
    parts.some((part) => text.includes(part));

/** Words for secrets that people choose, and for those that programs draw; also inside a name (DB_PASSWORD). */
const PASSWORD_WORD = "passw(?:or)?d|passwort|passphrase|pwd|\\bpw\\b|_pass\\b";
const SECRET_WORD =
  "secret|token|credential|bearer|(?<![a-z])auth|(?:api|access|private|secret|auth|encryption|signing|admin|account|sdk|service|master|licen[cs]e|cookie|session|app)[ _-]?key";
const WORD = `(${PASSWORD_WORD}|${SECRET_WORD})s?`;
const VALUE = "([^\\s\"'`,;<>(){}[\\]]{6,512})";
/** What can be between a word and its operator: `secret_key_base`, `PASSWORD_PROD`, `Password for staging`. */
const SUFFIX = "(?:[_-](?:base|prod|production|staging|dev|live|main|v?\\d)| for [\\w.-]{1,32})?";
const QUOTE = "\\\\?[\"'`]?";

/** Assigned with `=`, `:`, `=>`, "is", as an XML element or attribute, or by `name` and `value`. */
const ASSIGNED = new RegExp(
  `${WORD}${SUFFIX}(?:["'\`\\]\\\\]{0,3}\\s{0,4}(?::=|=>|[:=>])\\s{0,4}|\\s{1,2}is\\s{1,2}(?=\\\\?["'\`])|["']?\\s{1,12}value["']?\\s?[:=]\\s?)${QUOTE}${VALUE}`,
  "gi",
);
/**
 * An operator after a word. Searching for the operator and then looking back reads a text four times as fast as
 * searching for the words.
 */
const ASSIGNMENT_OPERATOR =
  /[:=>](?<=(?:passw(?:or)?d|passwort|passphrase|pwd|pw|_pass|secret|token|key|credential|bearer|auth)s?(?:[_-]\w{1,10}| for [\w.-]{1,32})?["'`\]\\]{0,3}(?:\s{1,12}value["']?)?\s{0,4}[:=>])|\bis\s{1,2}\\?["'`]/i;
/** Most prose has neither an operator nor the quotation mark that an "is" needs. */
const hasOperator = includes(":", "=", ">", '"', "'", "`");
/** As the next argument: `set("auth.token", "…")`. */
const ARGUMENT = new RegExp(`${WORD}["']\\s?,\\s?["']${VALUE}`, "gi");
const OPTION = new RegExp(
  `--(?:[a-z0-9]{1,16}-){0,3}[a-z0-9]{0,8}${WORD}\\s{1,2}["']?${VALUE}`,
  "gi",
);
/** In prose: `the token <value>`, `the password is <value>`, `aws_secret_access_key <value>`. */
const SPOKEN = new RegExp(`${WORD}(?:\\s{1,2}(?:is|was))?\\s{1,2}["'\`]?${VALUE}`, "gi");
/** In prose only a value with a digit counts, next to a letter or a symbol. */
const MIXED = /\d(?:[A-Za-z!#$%^*+?_-]|(?<=[A-Za-z!#$%^*+?_-]\d))/;
/** Names of variables and headers that end in KEY, PAT or AUTH, except for keys that are public or not secret. */
const VARIABLE =
  /(?:[A-Z0-9]_(?:KEY|PAT|AUTH)|-Key)(?<!(?:PUBLIC|PUBLISHABLE|SITE|PRIMARY|PARTITION|SORT|CACHE|IDEMPOTENCY|FOREIGN|ROUTING|HOST)_KEY|(?:Public|Site|Idempotency|Cache|Partition|Routing)-Key)["']?\s{0,2}[:=]\s{0,2}["']?([^\s"'`,;<>(){}[\]]{20,512})/g;
/** A password in a URL: `postgres://user:password@host`. */
const IN_ADDRESS = /:\/\/[^\s:/@"'<>]{0,128}:([^\s@/"'<>]{1,256})(?=@[\w.[-])/g;
const AUTHORIZATION = /\b(?:Bearer|Basic|ApiKey)\s{1,4}([A-Za-z0-9._~+/-]{16,4000}={0,2})/g;
const USER_OPTION = /\s(?:-u|--user)[ =]["']?[^\s:"']{1,64}:([^\s"'@]{6,128})/g;
const PASSWORD_OPTION = /\s-p\s?["']?([^\s"']{8,128})/g;
const IDENTIFIED_BY = /\bidentified\s{1,2}by\s{1,2}["']([^"'\s]{6,128})/gi;
/** A line of .pgpass: `host:port:database:user:password`. */
const PGPASS = /^[\w.*-]{1,128}:(?:\d{2,5}|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:([^\s:]{6,128})$/gm;

const isPasswordWord = (word: string): boolean => /^_?p(?:ass|wd|w)/i.test(word);

const named = (word: string): string =>
  isPasswordWord(word) ? "password" : word.toLowerCase().replace(/[ _-]?key$/, " key");

const ifAnnounced = (value: string, word: string): string | undefined =>
  (isPasswordWord(word) ? isPassword : isRandom)(value) ? named(word) : undefined;

const ifSpoken = (value: string, word: string): string | undefined =>
  (isPasswordWord(word) ? isCertainlyPassword : isCertainlyRandom)(value) ? named(word) : undefined;

const ifRandom =
  (kind: string) =>
  (value: string): string | undefined =>
    isRandom(value) ? kind : undefined;

const ifPassword =
  (kind: string) =>
  (value: string): string | undefined =>
    isPassword(value) ? kind : undefined;

/** All contexts; where two find the same value, the first one names it. */
export const SECRET_CONTEXTS: readonly SecretContext[] = [
  { may: includes("://"), pattern: IN_ADDRESS, kindOf: ifPassword("password in an address") },
  {
    may: includes("Bearer ", "Basic ", "ApiKey "),
    pattern: AUTHORIZATION,
    kindOf: ifRandom("authorization header"),
  },
  {
    may: (text) => hasOperator(text) && ASSIGNMENT_OPERATOR.test(text),
    pattern: ASSIGNED,
    kindOf: ifAnnounced,
  },
  { may: includes("--"), pattern: OPTION, kindOf: ifAnnounced },
  { may: (text) => MIXED.test(text), pattern: SPOKEN, kindOf: ifSpoken },
  { may: includes('", "', "', '"), pattern: ARGUMENT, kindOf: ifSpoken },
  { may: includes("_KEY", "_PAT", "_AUTH", "-Key"), pattern: VARIABLE, kindOf: ifRandom("key") },
  { may: includes("curl"), pattern: USER_OPTION, kindOf: ifPassword("password") },
  {
    may: (text) => text.includes("-p") && /mysql|sshpass|login/.test(text),
    pattern: PASSWORD_OPTION,
    kindOf: ifPassword("password"),
  },
  {
    may: includes("ENTIFIED BY"),
    pattern: IDENTIFIED_BY,
    kindOf: ifPassword("password"),
  },
  { may: includes(":5432:", ":*:"), pattern: PGPASS, kindOf: ifPassword("password") },
];

/**
 * Finds secrets in a text: keys in the format of a provider, private keys, passwords in URLs, bearer tokens,
 * and values that look random next to a word such as "password". Pure. A finding states kind and position,
 * never the secret. In doubt, a value is not reported: people who get false warnings stop reading warnings.
 * test/envelope/secrets.test.ts measures the error rates.
 *
 * Everything that is stored is checked here. All patterns together took 13 µs per kilobyte of prose; a cheap
 * test first for what each pattern requires brings that to 2.
 */

/** A secret found in a text. */
export interface SecretMatch {
  /** The kind of secret, for people: "GitHub token". */
  readonly kind: string;
  /** Start and end of the secret itself in the text; `end` is exclusive. */
  readonly at: number;
  readonly end: number;
}

interface SecretPattern {
  readonly kind: string;
  /** Its first group, or the whole match, must look random. */
  readonly pattern: RegExp;
  /** True if only that group is the secret; it is at the end of the match, and the rest gives the context. */
  readonly last?: true;
}

/** Key formats as the providers document them; each begins with a prefix that is quick to find. */
const PROVIDERS: readonly SecretPattern[] = [
  { kind: "Baton token", pattern: /\bbaton_([A-Za-z0-9_-]{40,512})/g },
  { kind: "AWS access key", pattern: /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/g },
  { kind: "GitHub token", pattern: /\bgh[pousr]_([A-Za-z0-9]{36,255})\b/g },
  { kind: "GitHub token", pattern: /\bgithub_pat_([A-Za-z0-9_]{40,255})\b/g },
  { kind: "GitLab token", pattern: /\bgl(?:pat|rt|dt|ptt|cbt|soat|ft)-([\w-]{20,64})\b/g },
  { kind: "Slack token", pattern: /\bxox[abeoprs]-([A-Za-z0-9-]{20,255})/g },
  { kind: "Slack token", pattern: /\bxapp-\d-([A-Za-z0-9-]{20,255})/g },
  {
    kind: "Slack webhook",
    pattern: /\bhooks\.slack\.com\/services\/T\w{6,}\/B\w{6,}\/(\w{20,})/g,
    last: true,
  },
  { kind: "Anthropic key", pattern: /\bsk-ant-([\w-]{24,255})/g },
  {
    kind: "OpenAI key",
    pattern: /\bsk-(?=[\w-]{0,64}\d)(?:proj-|svcacct-|admin-)?([\w-]{32,255})/g,
  },
  { kind: "Groq key", pattern: /\bgsk_([A-Za-z0-9]{40,64})\b/g },
  { kind: "xAI key", pattern: /\bxai-([A-Za-z0-9]{64,128})\b/g },
  { kind: "Perplexity key", pattern: /\bpplx-([A-Za-z0-9]{40,64})\b/g },
  { kind: "Replicate token", pattern: /\br8_([A-Za-z0-9]{37})\b/g },
  { kind: "Stripe key", pattern: /\b[rs]k_(?:live|test)_([A-Za-z0-9]{16,255})\b/g },
  { kind: "Stripe webhook secret", pattern: /\bwhsec_([A-Za-z0-9+/]{24,128})/g },
  { kind: "Google key", pattern: /\bAIza([\w-]{35})(?![\w-])/g },
  { kind: "Google client secret", pattern: /\bGOCSPX-([\w-]{24,40})/g },
  { kind: "Google token", pattern: /\bya29\.([\w-]{20,255})/g },
  { kind: "npm token", pattern: /\bnpm_([A-Za-z0-9]{36})\b/g },
  { kind: "PyPI token", pattern: /\bpypi-AgEIcHlwaS5vcmc([\w-]{50,255})/g },
  { kind: "Docker token", pattern: /\bdckr_[op]at_([\w-]{24,64})/g },
  { kind: "Hugging Face token", pattern: /\bhf_([A-Za-z0-9]{30,64})\b/g },
  { kind: "DigitalOcean token", pattern: /\bdo[opr]_v1_([a-f0-9]{64})\b/g },
  { kind: "SendGrid key", pattern: /\bSG\.([\w-]{20,32}\.[\w-]{32,64})/g },
  { kind: "Twilio key", pattern: /\bSK([a-f0-9]{32})\b/g },
  { kind: "Shopify token", pattern: /\bshp(?:at|ca|pa|ss)_([a-fA-F0-9]{32})\b/g },
  { kind: "Linear key", pattern: /\blin_(?:api|oauth)_([A-Za-z0-9]{32,80})\b/g },
  { kind: "Notion token", pattern: /\bntn_([A-Za-z0-9]{40,64})\b/g },
  { kind: "Databricks token", pattern: /\bdapi([a-f0-9]{32})(?:-\d)?\b/g },
  { kind: "Vault token", pattern: /\bhv[sb]\.([\w-]{24,255})/g },
  { kind: "Sentry token", pattern: /\bsntry[su]_([\w+/=-]{40,512})/g },
  { kind: "Grafana token", pattern: /\bgl(?:sa|c)_([\w+/=-]{32,512})/g },
  { kind: "Supabase token", pattern: /\bsb(?:p|_secret)_([\w-]{30,64})\b/g },
  { kind: "Postman key", pattern: /\bPMAK-([a-f0-9]{24}-[a-f0-9]{34})\b/g },
  { kind: "Atlassian token", pattern: /\bATATT3([\w=-]{60,255})/g },
  { kind: "age key", pattern: /\bAGE-SECRET-KEY-1([0-9A-Z]{58})\b/g },
  { kind: "Azure account key", pattern: /\bAccountKey=([A-Za-z0-9+/]{64,88}={0,2})/g, last: true },
  {
    kind: "JSON web token",
    pattern: /\beyJ[\w-]{8,2000}\.eyJ[\w-]{8,4000}\.([\w-]{16,2000})/g,
  },
];

/**
 * Prefixes of these keys. A key begins at the start of an unbroken run of letters, digits, `_` and `-`, or
 * after a `-` in it.
 */
const BEGINNING =
  /baton_|A[KS]IA|gh[pousr]_|github_pat_|gl(?:pat|rt|dt|ptt|cbt|soat|ft)-|xox[abeoprs]-|xapp-|sk-|gsk_|xai-|pplx-|r8_|[rs]k_(?:live|test)_|whsec_|AIza|GOCSPX-|npm_|pypi-A|dckr_|hf_|do[opr]_v1_|SK[a-f0-9]{32}|shp(?:at|ca|pa|ss)_|lin_|ntn_|dapi|sntry|gl(?:sa|c)_|sbp?_|PMAK-|ATATT3|AGE-SECRET|eyJ/y;

/**
 * Returns true if a key begins in a run. Keys begin at the start of a word, so 4 KB of base64 offer only one
 * position.
 */
function beginsKey(run: string): boolean {
  for (let at = 0; ; ) {
    BEGINNING.lastIndex = at;
    if (BEGINNING.test(run)) return true;
    const dash = run.indexOf("-", at);
    if (dash < 0) return false;
    at = dash + 1;
  }
}

/** Prefixes that end in a character that does not occur in a run. */
const PUNCTUATED_PREFIXES = [
  "ya29.",
  "SG.",
  "hvs.",
  "hvb.",
  "hooks.slack.com/",
  "AccountKey=",
] as const;

/** Length of the shortest run in a key. */
const MIN_RUN_LENGTH = 20;

/** Indexed by character code: 1 for letters, digits, `_` and `-`. */
const OF_RUN = Uint8Array.from({ length: 128 }, (_, code) =>
  /[\w-]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/**
 * Returns true if the text can contain a key of a provider. Searches for runs backwards from where one would
 * end: the next run can begin only after the character that broke the last one, so in prose about every fifth
 * character is read.
 */
function mayHoldKey(text: string): boolean {
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
    if (beginsKey(text.slice(from, end))) return true;
    isLong = true;
    from = end + 1;
  }
  return isLong && PUNCTUATED_PREFIXES.some((beginning) => text.includes(beginning));
}

/** The header alone, in prose, is not a key: key material must follow. */
const PRIVATE_KEY =
  /-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|[\w-]{1,40}: [^\n\\]{1,80}(?=\n|\\n)){0,20}[A-Za-z0-9+/=]{24}/g;
/** Maximum distance to the end of a key: RSA with 16,384 bits has 13,000 characters. */
const MAX_PRIVATE_KEY_LENGTH = 20_000;
const KEY_END = /-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/;
const KEY_BODY = /[A-Za-z0-9+/=]*(?:(?:\r?\n|(?:\\r)?\\n)[A-Za-z0-9+/=]{16,})*/y;

/** A password in a URL: `postgres://user:password@host`. */
const IN_ADDRESS = /:\/\/[^\s:/@"'<>]{0,128}:([^\s@/"'<>]{1,256})(?=@[\w.[-])/g;

const AUTHORIZATION = /\b(?:Bearer|Basic)\s{1,4}([A-Za-z0-9._~+/-]{16,4000}={0,2})/g;

/** A word that announces a secret, also inside a name (DB_PASSWORD, clientSecret) or in JSON within JSON. */
const WORD =
  "(password|passwd|passphrase|pwd|secret|token|api[ _-]?key|access[ _-]?key|private[ _-]?key|credential)s?";
const VALUE = "[^\\s\"'`,;<>(){}[\\]]{6,512}";
/** Assigned with `=`, `:` or "is", or passed as a command-line option. */
const ASSIGNED = new RegExp(
  `${WORD}(?:["'\`\\]\\\\]{0,3}\\s{0,4}(?::=|=>|[:=])\\s{0,4}|\\s{1,2}is\\s{1,2}(?=\\\\?["'\`]))\\\\?["'\`]?(${VALUE})`,
  "gi",
);
const OPTION = new RegExp(`--[\\w-]{0,32}${WORD}\\s{1,2}["']?(${VALUE})`, "gi");
/** Cheap tests for what ASSIGNED requires. */
const SAID = /is\s{1,2}\\?["'`]/;
const ASSIGNMENT_START =
  /(?:passw(?:or)?d|passphrase|pwd|secret|token|key|credential)s?(?:["'`\]\\]{0,3}\s{0,4}[:=]|\s{1,2}is\s)/i;

const mayHoldAssignment = (text: string): boolean =>
  (text.includes(":") || text.includes("=") || SAID.test(text)) && ASSIGNMENT_START.test(text);

/** Returns every probable secret in a text, in order of position. */
export function findSecrets(text: string): SecretMatch[] {
  const found = [
    ...(text.includes("PRIVATE KEY") ? privateKeys(text) : NONE),
    ...(mayHoldKey(text) ? PROVIDERS.flatMap((form) => matches(text, form, isRandomKey)) : NONE),
    ...(text.includes("://") ? matches(text, URL_PASSWORD_PATTERN, isPassword) : NONE),
    ...(text.includes("Bearer") || text.includes("Basic")
      ? matches(text, AUTHORIZATION_PATTERN, isRandom)
      : NONE),
    ...(mayHoldAssignment(text) ? findAssigned(text, ASSIGNED) : NONE),
    ...(text.includes("--") ? findAssigned(text, OPTION) : NONE),
  ];
  return found.length < 2 ? found : removeOverlaps(found, text.length);
}

const NONE: readonly SecretMatch[] = [];

const URL_PASSWORD_PATTERN: SecretPattern = {
  kind: "password in an address",
  pattern: IN_ADDRESS,
  last: true,
};
const AUTHORIZATION_PATTERN: SecretPattern = {
  kind: "authorization header",
  pattern: AUTHORIZATION,
  last: true,
};

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

function matches(
  text: string,
  { kind, pattern, last }: SecretPattern,
  isOne: (value: string) => boolean,
): SecretMatch[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const [whole, drawn = whole] = match;
    if (!isOne(drawn)) return [];
    const end = match.index + whole.length;
    return [{ kind, at: last ? end - drawn.length : match.index, end }];
  });
}

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

function findAssigned(text: string, pattern: RegExp): SecretMatch[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const [whole, word = "", said = ""] = match;
    const value = said.replace(/\\+$/, ""); // The end of a string in JSON within JSON.
    const isSaid = /^(?:pass|pwd)/i.test(word);
    if (!(isSaid ? isPassword(value) : isRandom(value))) return [];
    const kind = isSaid ? "password" : word.toLowerCase().replace(/[ _-]?key/, " key");
    const at = match.index + whole.length - said.length;
    return [{ kind, at, end: at + value.length }];
  });
}

/** Placeholders: `<password>`, `${TOKEN}`, `your-key-here`, `xxxx`. */
const PLACEHOLDER =
  /example|placeholder|change-?me|redacted|replace|insert|dummy|sample|your|here$|\.\.\.|…|xxx|\*\*|^[$%<{[]|[$%]\{|^(?:null|none|undefined|true|false|string|number|boolean|unknown)\b/i;
/**
 * Expressions that refer to a secret without containing it: `process.env.TOKEN`, `options.apiKey`,
 * `config->password`.
 */
const EXPRESSION = /^[a-z_$][\w$]*(?:(?:\.|->|::|\?\.)[a-z_$][\w$]*)+$/i;
/** Locations of a secret: a vault path, a cloud resource name. */
const SECRET_LOCATION = /^(?:arn|https?|op|ssm|vault):/i;
/** Baton ids, which look random because they are. */
const BATON_ID = /^[a-z]{3}_[0-9a-f-]{36}/;

const isLiteralValue = (value: string): boolean =>
  ![PLACEHOLDER, EXPRESSION, SECRET_LOCATION].some((pattern) => pattern.test(value));

/** Placeholders within a long key. Shorter words occur by chance in about one of a hundred keys. */
const KEY_PLACEHOLDER =
  /example|placeholder|change-?me|redacted|replace|your[-_]|x{5}|\*{3}|\.\.\.|…/i;

/** Returns true if the variable part of a provider's key seems random. */
const isRandomKey = (value: string): boolean =>
  !KEY_PLACEHOLDER.test(value) && entropy(value) >= 3 && !isWords(value);

/** Returns true for a long value with several kinds of characters and high entropy. */
function isRandom(value: string): boolean {
  if (value.length < 16 || !isLiteralValue(value) || BATON_ID.test(value)) return false;
  return /\d/.test(value) && /[A-Za-z]/.test(value) && entropy(value) >= 3.2 && !isWords(value);
}

const CASE_CHANGES = /[a-z](?=[A-Z])|[A-Z](?=[a-z])/g;

/**
 * Returns true if a value looks like a password. People choose passwords, so shorter values count unless they
 * are words.
 */
function isPassword(value: string): boolean {
  if (value.length < 8 || !isLiteralValue(value) || BATON_ID.test(value)) return false;
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((kind) => kind.test(value)).length;
  const isMixed = /[\d!#$%&*+?@^~]/.test(value) || (value.match(CASE_CHANGES)?.length ?? 0) >= 3;
  return kinds >= 2 && isMixed && entropy(value) >= 2.5 && !isWords(value);
}

/** Words and numbers with separators, as people name things: `2026-03-rotation-policy`. */
const isWords = (value: string): boolean =>
  /^(?:[A-Za-z]{3,}|\d{1,4})(?:[-_./:](?:[A-Za-z]{2,}|\d{1,4}))+[.:]?$/.test(value);

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

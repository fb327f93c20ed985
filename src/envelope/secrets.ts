/**
 * Secrets in a text: keys whose form a provider fixed, private keys, passwords in addresses, bearer
 * tokens, and values that look drawn by chance next to a word such as "password". Pure. What is found
 * is told by its kind and place, never by itself. In doubt it is none: who is warned of secrets that
 * are none stops reading warnings. test/envelope/secrets.test.ts says how often it is wrong.
 */

export interface FoundSecret {
  /** What it looks like, for people: "GitHub token". */
  readonly kind: string;
  /** Where it begins. */
  readonly at: number;
}

interface Form {
  readonly kind: string;
  /** Its first group, or all of it, is the secret. */
  readonly pattern: RegExp;
}

/** By what providers say of their keys; each begins with something that is found quickly. */
const PROVIDERS: readonly Form[] = [
  { kind: "AWS access key", pattern: /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/g },
  { kind: "GitHub token", pattern: /\bgh[pousr]_([A-Za-z0-9]{36,255})\b/g },
  { kind: "GitHub token", pattern: /\bgithub_pat_([A-Za-z0-9_]{40,255})\b/g },
  { kind: "GitLab token", pattern: /\bglpat-([\w-]{20,64})\b/g },
  { kind: "Slack token", pattern: /\bxox[abeoprs]-([A-Za-z0-9-]{20,255})/g },
  {
    kind: "Slack webhook",
    pattern: /\bhooks\.slack\.com\/services\/T\w{6,}\/B\w{6,}\/(\w{16,})/g,
  },
  { kind: "Anthropic key", pattern: /\bsk-ant-([\w-]{24,255})/g },
  { kind: "OpenAI key", pattern: /\bsk-(?:proj-|svcacct-|admin-)?([A-Za-z0-9_-]{32,255})/g },
  { kind: "Stripe key", pattern: /\b[rs]k_(?:live|test)_([A-Za-z0-9]{16,255})\b/g },
  { kind: "Google key", pattern: /\bAIza([\w-]{35})(?![\w-])/g },
  { kind: "Google token", pattern: /\bya29\.([\w-]{20,255})/g },
  { kind: "npm token", pattern: /\bnpm_([A-Za-z0-9]{36})\b/g },
  { kind: "PyPI token", pattern: /\bpypi-AgEIcHlwaS5vcmc([\w-]{50,255})/g },
  { kind: "Hugging Face token", pattern: /\bhf_([A-Za-z0-9]{30,64})\b/g },
  { kind: "DigitalOcean token", pattern: /\bdo[op]_v1_([a-f0-9]{64})\b/g },
  { kind: "SendGrid key", pattern: /\bSG\.([\w-]{16,32}\.[\w-]{32,64})/g },
  { kind: "Shopify token", pattern: /\bshp(?:at|ca|pa|ss)_([a-fA-F0-9]{32})\b/g },
  { kind: "age key", pattern: /\bAGE-SECRET-KEY-1([0-9A-Z]{58})\b/g },
  { kind: "Azure account key", pattern: /\bAccountKey=([A-Za-z0-9+/]{64,88}={0,2})/g },
  {
    kind: "JSON web token",
    pattern: /\beyJ[\w-]{8,2000}\.eyJ[\w-]{8,4000}\.([\w-]{16,2000})/g,
  },
];

/** A name for one in prose is none: something must follow. */
const PRIVATE_KEY =
  /-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|[\w-]{1,40}: [^\n\\]{1,80}(?=\n|\\n)){0,20}[A-Za-z0-9+/=]{24}/g;

/** `postgres://user:password@host` */
const IN_ADDRESS = /:\/\/[^\s:/@"'<>]{0,128}:([^\s@/"'<>]{1,256})@[\w.[-]/g;

const AUTHORIZATION = /\b(?:Bearer|Basic)\s{1,4}([A-Za-z0-9._~+/-]{16,4000}={0,2})/g;

/** A telling word, perhaps inside a name (DB_PASSWORD, clientSecret), then the value. */
const ASSIGNED =
  /(password|passwd|passphrase|pwd|secret|token|api[ _-]?key|access[ _-]?key|private[ _-]?key|credentials?)(?:["'`\]]{0,2}\s{0,4}(?::=|=>|[:=])\s{0,4}|\s{1,2}is\s{1,2}(?=["'`]))["'`]?([^\s"'`,;<>(){}[\]]{6,512})/gi;

/** Every secret that a text seems to hold, in the order they stand. */
export function secretsIn(text: string): FoundSecret[] {
  const found: Placed[] = [
    ...matches(text, { kind: "private key", pattern: PRIVATE_KEY }, () => true),
    ...PROVIDERS.flatMap((form) => matches(text, form, isDrawn)),
    ...matches(text, { kind: "password in an address", pattern: IN_ADDRESS }, isPassword),
    ...matches(text, { kind: "authorization header", pattern: AUTHORIZATION }, isRandom),
    ...assigned(text),
  ];
  // One secret can have several forms; the first told is the most precise.
  const taken = new Set<number>();
  return found
    .filter(({ at, end }) => {
      for (let i = at; i < end; i++) if (taken.has(i)) return false;
      for (let i = at; i < end; i++) taken.add(i);
      return true;
    })
    .map(({ kind, at }) => ({ kind, at }))
    .sort((a, b) => a.at - b.at);
}

interface Placed extends FoundSecret {
  readonly end: number;
}

function matches(
  text: string,
  { kind, pattern }: Form,
  isOne: (value: string) => boolean,
): Placed[] {
  return [...text.matchAll(pattern)]
    .filter((match) => isOne(match[1] ?? match[0]))
    .map((match) => ({ kind, at: match.index, end: match.index + match[0].length }));
}

function assigned(text: string): Placed[] {
  return [...text.matchAll(ASSIGNED)].flatMap((match) => {
    const [whole, word = "", value = ""] = match;
    const isSaid = /^(?:pass|pwd)/i.test(word);
    if (!(isSaid ? isPassword(value) : isRandom(value))) return [];
    const kind = isSaid ? "password" : word.toLowerCase().replace(/[ _-]?key/, " key");
    return [{ kind, at: match.index, end: match.index + whole.length }];
  });
}

/** What stands where a secret would: `<password>`, `${TOKEN}`, `your-key-here`, `xxxx`. */
const PLACEHOLDER =
  /example|placeholder|change-?me|redacted|replace|insert|dummy|sample|your|here$|\.\.\.|…|xxx|\*\*|^[$%<{[]|[$%]\{|^(?:null|none|undefined|true|false|string|number|boolean|unknown)\b/i;
/** `process.env.TOKEN`, `options.apiKey`, `config->password`: says where it is, not what. */
const EXPRESSION = /^[a-z_$][\w$]*(?:(?:\.|->|::|\?\.)[a-z_$][\w$]*)+$/i;
/** Where one is kept: in a vault, by a cloud's name for it. */
const KEPT = /^(?:arn|https?|op|ssm|vault):/i;
/** Ids of this library's own, which look drawn because they are. */
const OWN_ID = /^[a-z]{3}_[0-9a-f-]{36}/;

const stands = (value: string): boolean =>
  ![PLACEHOLDER, EXPRESSION, KEPT].some((pattern) => pattern.test(value));

/** The part of a provider's key that is drawn by chance. */
const isDrawn = (value: string): boolean =>
  !PLACEHOLDER.test(value) && spread(value) >= 3 && !isWords(value);

/** Long, of several kinds of characters, and of many different ones. */
function isRandom(value: string): boolean {
  if (value.length < 16 || !stands(value) || OWN_ID.test(value)) return false;
  return /\d/.test(value) && /[A-Za-z]/.test(value) && spread(value) >= 3.2 && !isWords(value);
}

const TURNS_OF_CASE = /[a-z](?=[A-Z])|[A-Z](?=[a-z])/g;

/** People choose passwords: shorter ones count, where they are no word. */
function isPassword(value: string): boolean {
  if (value.length < 8 || !stands(value) || OWN_ID.test(value)) return false;
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((kind) => kind.test(value)).length;
  const isMixed = /[\d!#$%&*+?@^~]/.test(value) || (value.match(TURNS_OF_CASE)?.length ?? 0) >= 3;
  return kinds >= 2 && isMixed && spread(value) >= 2.5 && !isWords(value);
}

/** `2026-03-rotation-policy`: words and numbers with marks between them, as people name things. */
const isWords = (value: string): boolean =>
  /^(?:[A-Za-z]{3,}|\d{1,4})(?:[-_./:](?:[A-Za-z]{2,}|\d{1,4}))+[.:]?$/.test(value);

/** Bits per character: 0 of one character repeated, about 4 and more of what is drawn by chance. */
function spread(value: string): number {
  const counts = new Map<string, number>();
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values())
    bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}

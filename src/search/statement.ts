/**
 * Parses a sentence of a note for duplicate detection: its words in order, each represented by its synonym
 * family; numbers and identifiers as they are; negated words; and the end of its subject. Grammar is guessed
 * from function words only.
 */
import { trimEndOf } from "../base/trim-end.ts";
import { NEGATIONS } from "./opposites.ts";
import { STOP_WORDS } from "./stop-words.ts";
import { familyOf } from "./synonyms.ts";
import { stem } from "./terms.ts";

/** One significant word of a statement. */
export interface Token {
  /** What it is compared by. */
  readonly key: string;
  /** Its stem, by which opposites are found. */
  readonly stem: string;
  readonly word: string;
  /** A number, an identifier (worker-7, validateToken), a name, or a word. */
  readonly kind: "number" | "mark" | "name" | "word";
  /** How significant it is: a word such as "use" hardly at all. */
  readonly weight: number;
  /** Its index among all words of the sentence. */
  readonly at: number;
}

/** A parsed sentence, or a text parsed as one. */
export interface Statement {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** Function words that express a relation ("before", "on") and can reverse it. */
  readonly small: ReadonlySet<string>;
  /** Indexes in `tokens` of negated words. */
  readonly denied: readonly number[];
  /** Contrasts: indexes in `tokens` of the words around "before", "than" and the like. */
  readonly turns: readonly Contrast[];
  /** Tokens before this index are the subject; 0 if the sentence begins with an instruction. */
  readonly subject: number;
  /** True if it identifies a single one: "is the owner". */
  readonly isUnique: boolean;
  /** All its words, in order. */
  readonly words: readonly string[];
  /** The words between each token and the token before it. */
  readonly leads: readonly (readonly string[])[];
}

/** Two tokens around a word that contrasts them. */
export interface Contrast {
  readonly word: string;
  readonly left: number;
  readonly right: number;
}

/** Weight of a word that is hardly significant; other words weigh 1 or more. */
export const LIGHT_WEIGHT = 0.2;

const WORD = /[\p{L}\p{N}_$]+(?:[.:@/'’_-]+[\p{L}\p{N}_$]+)*%?/gu;
const SENTENCE = /(?<=[.!?;])\s+|\n+/u;

/** Parses each sentence of a text; omits sentences without significant words. */
export function statementsOf(text: string): Statement[] {
  return text
    .split(SENTENCE)
    .map(statementOf)
    .filter(({ tokens }) => tokens.length > 0);
}

/** Parses a whole text as one statement. */
export function statementOf(text: string): Statement {
  const tokens: Token[] = [];
  const small = new Set<string>();
  const denials: { readonly before: number; readonly after: boolean }[] = [];
  const pivots: { readonly word: string; readonly before: number }[] = [];
  const leads: string[][] = [];
  let lead: string[] = [];
  let subject = -1;
  let isUnique = false;
  const words = wordsIn(text);
  for (const [at, { word, raw }] of words.entries()) {
    const denies = NEGATIONS.has(word) && (word !== "gone" || COPULAS.has(lead.at(-1) ?? ""));
    if (denies) denials.push({ before: tokens.length, after: !TRAILING_NEGATIONS.has(word) });
    if (PIVOTS.has(word)) pivots.push({ word, before: tokens.length });
    if (RELATION_WORDS.has(word)) small.add(word);
    if (subject === -1 && AUXILIARIES.has(word)) subject = tokens.length;
    if (word === "the" && COPULAS.has(lead.at(-1) ?? "")) isUnique = true;
    if (denies || STOP_WORDS.has(word) || FILLER_WORDS.has(word)) {
      lead.push(word);
      continue;
    }
    tokens.push(tokenOf(word, raw, at));
    leads.push(lead);
    lead = [];
  }
  return {
    text,
    tokens,
    small,
    denied: denials.flatMap((denial) => scopeOf(denial, tokens)),
    turns: pivots.flatMap(({ word, before }) =>
      before === 0 || before >= tokens.length ? [] : [{ word, left: before - 1, right: before }],
    ),
    subject: subject === -1 ? impliedSubject(text) : subject,
    isUnique,
    words: words.map(({ word }) => word),
    leads,
  };
}

/**
 * Without an auxiliary verb, the first word is the subject; after "we", and in an instruction, there is none.
 */
const impliedSubject = (text: string): number => (/^\s*(we|i|you|they)\b/i.test(text) ? 0 : 1);

interface Raw {
  readonly word: string;
  /** As written in the text. */
  readonly raw: string;
}

function wordsIn(text: string): Raw[] {
  const plain = text.normalize("NFKC").replace(/[’]/g, "'");
  const found: Raw[] = [];
  for (const match of plain.match(WORD) ?? []) {
    const raw = trimEndOf(match.replace(/'s$/, ""), ".:/'-");
    if (raw.endsWith("%"))
      found.push({ word: raw.slice(0, -1), raw }, { word: "percent", raw: "" });
    else if (isIdentifier(raw)) found.push({ word: raw.toLowerCase(), raw });
    else {
      for (const part of raw.split(/[^\p{L}\p{N}']+/u).filter((each) => each !== "")) {
        found.push({ word: part.toLowerCase().replaceAll("'", ""), raw: part });
      }
    }
  }
  return found.map(({ word, raw }) => ({ word: NUMBERS.get(word) ?? word, raw }));
}

/** Identifiers are compared as a whole: us-east-1, validateToken, render_frame, a@b.test. */
const isIdentifier = (raw: string): boolean =>
  (/\d/.test(raw) && /[^\d]/.test(raw)) || /[_@]|[a-z][A-Z]|\p{L}\.\p{L}/u.test(raw);

const NUMERAL = /^\d+(?:[.,:]\d+)*$/;

function tokenOf(word: string, raw: string, at: number): Token {
  if (NUMERAL.test(word)) return { key: word, stem: word, word, kind: "number", weight: 1, at };
  if (isIdentifier(raw)) return { key: word, stem: word, word, kind: "mark", weight: 1.2, at };
  const root = stem(word);
  const key = familyOf(root);
  const kind = at > 0 && /^\p{Lu}/u.test(raw) ? "name" : "word";
  return { key, stem: root, word, kind, weight: LIGHT.has(key) ? LIGHT_WEIGHT : 1, at };
}

/**
 * Returns the word that a negation applies to: the next significant word, or the one before if none follows.
 */
function scopeOf(
  { before, after }: { readonly before: number; readonly after: boolean },
  tokens: readonly Token[],
): number[] {
  const next = tokens.findIndex(({ weight }, place) => place >= before && weight > LIGHT_WEIGHT);
  const last = tokens.findLastIndex(({ weight }, place) => place < before && weight > LIGHT_WEIGHT);
  const found = after && next !== -1 ? next : last !== -1 ? last : next;
  return found === -1 ? [] : [found];
}

const set = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));

/** Negations that follow the word they negate. */
const TRAILING_NEGATIONS = set("gone forbidden prohibited abandoned deprecated");
const PIVOTS = set("before after than instead over until");
const RELATION_WORDS = set("on off up down before after more less over under");
const COPULAS = set("is are was were be remains");
const AUXILIARIES = set(
  "is are was were be has have had must may can cannot could should will would shall does do did need needs got",
);
/** Words that carry no content in a note. */
const FILLER_WORDS = set(
  "us may anymore longer ever yet still already lesson note finding fact decided decision one's able within around",
);
/** Words that are hardly significant: paraphrases change them freely. */
const LIGHT: ReadonlySet<string> = new Set(
  `use make take get go do say give put happen come become let require must need every always currently
  place set choose have back way thing whole amount follow appear only kind sort want roughly store
  begin run occur exist entry serve like limit rather instead since plan scheduled work larger smaller
  cause`
    .split(/\s+/)
    .map((word) => familyOf(stem(word))),
);

const NUMBERS: ReadonlyMap<string, string> = new Map(
  `zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
  seventeen eighteen nineteen twenty`
    .split(/\s+/)
    .map((word, n): [string, string] => [word, String(n)])
    .concat(
      "thirty forty fifty sixty seventy eighty ninety"
        .split(" ")
        .map((word, n): [string, string] => [word, String(30 + n * 10)]),
    ),
);

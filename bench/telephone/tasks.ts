/**
 * Generates tasks from a seed: a thread of messages in prose (the opening, then later messages)
 * with an intent and nine to fourteen planted items, each with a question that is asked much later
 * in other words, and the key words of its answer. Some items are labelled, some are mentioned in
 * passing; most of the text is irrelevant. The simulated agents never see which is which.
 */
import { type Random, randomFrom } from "../../test/support/random.ts";
import { DOMAINS } from "./domains/all.ts";
import type { Domain, Frame, Kind } from "./frame.ts";
import { GREETINGS, INTENT, LABELLED, SENDERS, SMALL_TALK, UNLABELLED } from "./prose.ts";
import { type Slots, slotsFrom, worded } from "./slots.ts";

/** A planted item. */
export interface Item {
  readonly kind: Kind;
  readonly labelled: boolean;
  /** The sentence in the thread. */
  readonly sentence: string;
  readonly probe: string;
  /** Whether the question contains the project's term (near) or no word of the sentence (far). */
  readonly asked: "near" | "far";
  readonly key: Key;
  /** Index of the message it is in; 0 is the opening. */
  readonly message: number;
}

/** Key words of an answer, which must occur in one sentence. */
export type Key = readonly string[];

export interface Step {
  readonly name: string;
  readonly key: Key;
}

export interface Task {
  readonly name: string;
  readonly seed: number;
  readonly domain: Domain;
  readonly intent: { readonly text: string; readonly key: Key };
  readonly items: readonly Item[];
  /** One per agent of the longest line. */
  readonly steps: readonly Step[];
  /** The opening, then the later messages, each of one or a few paragraphs. */
  readonly thread: readonly string[];
}

export const LONGEST = 12;

export function taskOf(seed: number, n: number): Task {
  const own = seedOf(seed, "task", n);
  const random = randomFrom(own);
  const domain = DOMAINS[n % DOMAINS.length] ?? DOMAINS[0];
  const slots = slotsFrom(random);
  const intent = intentOf(domain, slots, random);
  const planted = shuffled(itemsOf(domain, slots, random), random);
  const { items, thread } = threadOf({ domain, intent: intent.text, planted, random });
  const steps = shuffled(domain.steps, random)
    .slice(0, LONGEST)
    .map((name) => ({ name, key: [name] }));
  return { name: `${domain.name}-${n + 1}`, seed: own, domain, intent, items, steps, thread };
}

/** Derives a seed per purpose, so that an additional choice in one does not affect the others. */
export function seedOf(...parts: readonly (string | number)[]): number {
  let hash = 2_166_136_261;
  for (const char of parts.join(" ")) {
    hash = Math.imul(hash ^ (char.codePointAt(0) as number), 16_777_619);
  }
  return hash >>> 0;
}

export function shuffled<Of>(all: readonly Of[], random: Random): Of[] {
  const left = [...all];
  return Array.from(all, () => left.splice(random.below(left.length), 1)[0] as Of);
}

const any = <Of>(all: readonly Of[], random: Random): Of => all[random.below(all.length)] as Of;

function intentOf(domain: Domain, slots: Slots, random: Random): Task["intent"] {
  const { says, key } = any(domain.intents, random);
  const [text = "", ...words] = slots.fill([worded(says, random), ...key]);
  return { text, key: words };
}

/** Number of items per kind, nine to fourteen in total. */
const COUNTS: Readonly<Record<Kind, readonly [least: number, most: number]>> = {
  must: [2, 3],
  aside: [2, 3],
  decision: [2, 3],
  fact: [2, 3],
  failed: [1, 2],
};

type Planted = Omit<Item, "message">;

function itemsOf(domain: Domain, slots: Slots, random: Random): Planted[] {
  return (Object.keys(COUNTS) as Kind[]).flatMap((kind) => {
    const [least, most] = COUNTS[kind];
    const frames = shuffled(domain.frames[kind], random);
    return frames
      .slice(0, least + random.below(most - least + 1))
      .map((frame) => itemOf(kind, frame, { domain, slots, random }));
  });
}

/** Share of decisions, facts and dead ends with a label; rules mentioned in passing have none. */
const LABELLED_SHARE = 0.5;

function itemOf(
  kind: Kind,
  frame: Frame,
  { domain, slots, random }: { domain: Domain; slots: Slots; random: Random },
): Planted {
  const asked = random.chance(0.5) ? "near" : "far";
  const [says = "", probe = "", ...key] = slots.fill([
    worded(frame.says, random),
    worded(frame[asked], random),
    ...frame.key,
  ]);
  const labelled = kind === "must" || (kind !== "aside" && random.chance(LABELLED_SHARE));
  const around = labelled
    ? LABELLED[kind as keyof typeof LABELLED]
    : UNLABELLED[kind as keyof typeof UNLABELLED];
  const sentence = about(any(around, random), domain, random)
    .replace("_", says)
    .replace("^", capital(says));
  return { kind, labelled, sentence, probe, asked, key };
}

interface Writing {
  readonly domain: Domain;
  readonly intent: string;
  readonly planted: readonly Planted[];
  readonly random: Random;
}

/** Share of the items other than labelled rules that is in the opening; the rest comes later. */
const IN_OPENING = 0.3;

function threadOf({ domain, intent, planted, random }: Writing): Pick<Task, "items" | "thread"> {
  const messages = 9 + random.below(4);
  const deck = smallTalk(domain, random);
  const items = planted.map((item) => {
    const opening = item.kind === "must" || random.chance(IN_OPENING);
    return { ...item, message: opening ? 0 : 1 + random.below(messages - 1) };
  });
  const thread = Array.from({ length: messages }, (_, message) => {
    const sentences = items.filter((item) => item.message === message).map((item) => item.sentence);
    const first =
      message === 0
        ? [worded(any(GREETINGS, random), random), any(INTENT, random).replace("_", intent)]
        : [any(SENDERS, random)];
    return paragraphs([...first, deck()], sentences, { deck, random });
  });
  return { items, thread };
}

/** Joins the items, with small talk before, between and after them, into paragraphs. */
function paragraphs(
  first: readonly string[],
  items: readonly string[],
  { deck, random }: { deck: () => string; random: Random },
): string {
  const said = [...first];
  for (const sentence of items) {
    said.push(sentence);
    for (let n = 2 + random.below(4); n > 0; n--) said.push(deck());
  }
  for (let n = 4 + random.below(5); n > 0; n--) said.push(deck());
  const parts: string[][] = [];
  for (let from = 0; from < said.length; ) {
    const length = 3 + random.below(4);
    parts.push(said.slice(from, from + length));
    from += length;
  }
  return parts.map((part) => part.join(" ")).join("\n\n");
}

/** Returns small talk; no sentence repeats before all have been used. */
function smallTalk(domain: Domain, random: Random): () => string {
  let left: string[] = [];
  return () => {
    if (left.length === 0) left = shuffled(SMALL_TALK, random);
    return capital(about(left.pop() as string, domain, random));
  };
}

/** Fills in things of the domain and meaningless numbers. */
export function about(text: string, domain: Domain, random: Random): string {
  return worded(text, random)
    .replace(/@/g, () => any(domain.things, random))
    .replace(/#/g, () => String(100 + random.below(900)));
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Returns whether one sentence of the text contains all key words. */
export function mentions(text: string, key: Key): boolean {
  if (
    !key.every((word) => text.includes(word) || text.toLowerCase().includes(word.toLowerCase()))
  ) {
    return false;
  }
  const patterns = key.map(
    (word) => new RegExp(`(?<![\\w:-])${word.replace(/[^\w ]/g, "\\$&")}(?![\\w-]|[:.]\\d)`, "i"),
  );
  return text
    .split(/\n|(?<=[.!?])\s+(?=[A-Z("])|","/)
    .some((sentence) => patterns.every((pattern) => pattern.test(sentence)));
}

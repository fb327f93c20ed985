/** The second task generator: different worlds and prose, the same task format as the first. */

import { type Random, randomFrom } from "../../../test/support/random.ts";
import type { Item, Key, Step, Task } from "../tasks.ts";
import {
  ASIDE_LEADS,
  DECISION_LABELS,
  FACT_LABELS,
  FAILED_LABELS,
  GREETINGS,
  INTENT_LEADS,
  MUST_LABELS,
  SENDER_LINES,
  SMALL_TALK,
} from "./prose.ts";
import { pickFrom, shuffled, Values, withChoices } from "./values.ts";
import type { Frame, Kind, World } from "./world.ts";
import { cargo } from "./worlds/cargo.ts";
import { loan } from "./worlds/loan.ts";
import { orchard } from "./worlds/orchard.ts";
import { organ } from "./worlds/organ.ts";
import { play } from "./worlds/play.ts";
import { rota } from "./worlds/rota.ts";

export const SECOND_WORLDS: readonly World[] = [organ, rota, loan, orchard, play, cargo];

const STEPS = 12;
const FEWEST_MESSAGES = 9;
const MOST_MESSAGES = 12;
const IN_OPENING = 0.3;
const FEWEST_WORDS = 1200;
const MORE_WORDS = 280;

/** Minimum and maximum number of items per kind. */
const COUNTS: readonly (readonly [Kind, number, number])[] = [
  ["must", 2, 3],
  ["aside", 2, 3],
  ["decision", 2, 3],
  ["fact", 2, 3],
  ["failed", 1, 2],
];

const LABELS: Readonly<Record<Kind, readonly string[]>> = {
  must: MUST_LABELS,
  aside: [],
  decision: DECISION_LABELS,
  fact: FACT_LABELS,
  failed: FAILED_LABELS,
};

interface Draft {
  readonly kind: Kind;
  readonly frame: Frame;
  readonly labelled: boolean;
}

/** A position in a message for up to `most` sentences of small talk. */
interface Gap {
  readonly most: number;
  readonly talk: string[];
}

interface PlacedItem {
  readonly item: Item;
  readonly after: Gap;
}

interface Message {
  readonly opens: string;
  readonly intent: string | undefined;
  readonly extra: Gap;
  readonly items: readonly PlacedItem[];
}

export function secondTaskOf(seed: number, n: number): Task {
  const random = randomFrom(seedOf(seed, n));
  const world = SECOND_WORLDS[n % SECOND_WORLDS.length] ?? organ;
  const values = new Values(random, world.pools);
  const intent = intentOf(world, values, random);
  const messages = FEWEST_MESSAGES + random.below(MOST_MESSAGES - FEWEST_MESSAGES + 1);
  const items = itemsOf(world, values, { random, messages });
  return {
    name: `${world.name}-${n + 1}`,
    seed,
    domain: world,
    intent,
    items,
    steps: stepsOf(world, random),
    thread: threadOf(world, intent.text, { random, messages, items }),
  };
}

/** Derives the seed of a task; consecutive tasks get unrelated seeds. */
function seedOf(seed: number, n: number): number {
  let mixed = Math.imul(seed ^ 0x5ec07d01, 0x85ebca6b) ^ Math.imul(n + 1, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x27d4eb2f);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

function intentOf(world: World, values: Values, random: Random): Task["intent"] {
  const { says, key } = pickFrom(world.intents, random);
  const scope = new Map<string, string>();
  const text = values.fill(says, scope);
  return { text, key: keyOf(key, values, scope) };
}

function stepsOf(world: World, random: Random): Step[] {
  const names = shuffled(world.steps, random).slice(0, STEPS);
  return names.map((name) => ({ name, key: [name] }));
}

function keyOf(key: readonly string[], values: Values, scope: Map<string, string>): Key {
  return key.map((word) => values.fill(word, scope));
}

/** Returns the items in the order of the thread. */
function itemsOf(
  world: World,
  values: Values,
  { random, messages }: { random: Random; messages: number },
): Item[] {
  const drafts = shuffled(draftsOf(world, random), random);
  const asked = halves(drafts.length, random);
  const places = placesFrom(messages, random);
  const items = drafts.map((draft, index): Item => {
    const near = asked[index] === true;
    const scope = new Map<string, string>();
    const sentence = sentenceOf(draft, values.fill(draft.frame.says, scope), random);
    return {
      kind: draft.kind,
      labelled: draft.labelled,
      sentence,
      probe: values.fill(near ? draft.frame.near : draft.frame.far, scope),
      asked: near ? "near" : "far",
      key: keyOf(draft.frame.key, values, scope),
      message: draft.kind === "must" || random.chance(IN_OPENING) ? 0 : places(),
    };
  });
  return items.sort((a, b) => a.message - b.message);
}

function draftsOf(world: World, random: Random): Draft[] {
  return COUNTS.flatMap(([kind, least, most]) => {
    const count = least + random.below(most - least + 1);
    const frames = shuffled(world.frames[kind], random).slice(0, count);
    const labelled = labelsOf(kind, count, random);
    return frames.map((frame, index) => ({ kind, frame, labelled: labelled[index] === true }));
  });
}

function labelsOf(kind: Kind, count: number, random: Random): boolean[] {
  if (kind !== "must" && kind !== "aside") return halves(count, random);
  return Array.from({ length: count }, () => kind === "must");
}

/** Returns half true and half false values in random order; an odd one is either. */
function halves(count: number, random: Random): boolean[] {
  const start = random.below(2);
  const values = Array.from({ length: count }, (_, index) => (index + start) % 2 === 0);
  return shuffled(values, random);
}

/** Draws from the later messages; none repeats before all have been drawn. */
function placesFrom(messages: number, random: Random): () => number {
  let deck: number[] = [];
  return () => {
    if (deck.length === 0) {
      const later = Array.from({ length: messages - 1 }, (_, index) => index + 1);
      deck = shuffled(later, random);
    }
    return deck.pop() ?? 1;
  };
}

function sentenceOf(draft: Draft, filled: string, random: Random): string {
  if (filled.startsWith("~")) return `${pickFrom(ASIDE_LEADS, random)}${filled.slice(1)}`;
  if (!draft.labelled) return filled;
  const named = draft.frame.says.startsWith("[");
  return `${pickFrom(LABELS[draft.kind], random)}${named ? filled : lowered(filled)}`;
}

function lowered(sentence: string): string {
  return `${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
}

interface ThreadOptions {
  readonly random: Random;
  readonly messages: number;
  readonly items: readonly Item[];
}

/** Writes the messages, adding small talk until the thread has the required length. */
function threadOf(
  world: World,
  intent: string,
  { random, messages, items }: ThreadOptions,
): string[] {
  const say = talkOf(world, random);
  const gap = (least: number, most: number): Gap => ({
    most,
    talk: Array.from({ length: least }, say),
  });
  const senders = shuffled(world.senders, random);
  const drafts = Array.from({ length: messages }, (_, index): Message => {
    const opening = index === 0;
    return {
      opens: opening
        ? `${withChoices(pickFrom(GREETINGS, random), random)} `
        : senderLine(senders[(index - 1) % senders.length] ?? "the office", random),
      intent: opening ? `${pickFrom(INTENT_LEADS, random)}${intent}` : undefined,
      extra: gap(4, 8),
      items: items
        .filter(({ message }) => message === index)
        .map((item) => ({ item, after: gap(2, 5) })),
    };
  });
  grow(drafts, say, random);
  return drafts.map((draft) => written(draft, random));
}

function grow(drafts: readonly Message[], say: () => string, random: Random): void {
  const wanted = FEWEST_WORDS + random.below(MORE_WORDS);
  let words = wordsOf(drafts);
  let open = gapsOf(drafts);
  while (words < wanted && open.length > 0) {
    const sentence = say();
    pickFrom(open, random).talk.push(sentence);
    words += sentence.split(" ").length;
    open = open.filter(({ most, talk }) => talk.length < most);
  }
}

function gapsOf(drafts: readonly Message[]): Gap[] {
  return drafts.flatMap(({ extra, items }) => [extra, ...items.map(({ after }) => after)]);
}

function wordsOf(drafts: readonly Message[]): number {
  const texts = drafts.flatMap(({ opens, intent, items }) => [
    opens,
    intent ?? "",
    ...items.map(({ item }) => item.sentence),
  ]);
  const talk = gapsOf(drafts).flatMap((gap) => gap.talk);
  return [...texts, ...talk].join(" ").split(/\s+/).filter(Boolean).length;
}

/** Returns small talk about the world's things; no sentence repeats before all have been used. */
function talkOf(world: World, random: Random): () => string {
  let deck: string[] = [];
  let things: string[] = [];
  const thing = (): string => {
    if (things.length === 0) things = shuffled(world.things, random);
    return things.pop() ?? "it";
  };
  return () => {
    if (deck.length === 0) deck = shuffled(SMALL_TALK, random);
    return withChoices(deck.pop() ?? "", random).replaceAll("[thing]", thing);
  };
}

function senderLine(sender: string, random: Random): string {
  const capital = `${sender.charAt(0).toUpperCase()}${sender.slice(1)}`;
  return pickFrom(SENDER_LINES, random).replace("[from]", sender).replace("[From]", capital);
}

/** Renders a message as paragraphs: opening, intent, then the items with their small talk. */
function written(message: Message, random: Random): string {
  const { talk } = message.extra;
  const before = 1 + random.below(talk.length - 1);
  const paragraphs = [`${message.opens}${talk.slice(0, before).join(" ")}`];
  if (message.intent !== undefined) paragraphs.push(message.intent);
  for (const { item, after } of message.items) {
    const block = [item.sentence, ...after.talk].join(" ");
    if (random.chance(0.5)) paragraphs.push(block);
    else paragraphs.push(`${paragraphs.pop() ?? ""} ${block}`);
  }
  paragraphs.push(`${paragraphs.pop() ?? ""} ${talk.slice(before).join(" ")}`);
  return paragraphs.join("\n\n");
}

/**
 * The section "Earlier on this task": what earlier handoffs reported, one part each, most useful and newest
 * first, with author, day and a short id. What the envelope itself contains is not repeated, and what several
 * handoffs reported appears once. Each earlier handoff is listed in the manifest as a whole, for everything
 * without a part here.
 */
import type { Envelope } from "../../envelope/schema.ts";
import type { PartKind } from "../../profiles/view-parts.ts";
import { quoteText } from "../../text/fence.ts";
import { shortIdFormatter } from "../../text/short-ids.ts";
import { type EarlierLine, EMPTY_EARLIER_LINE } from "./earlier-line.ts";
import type { Part } from "./envelope-parts.ts";
import {
  artifactText,
  blockedText,
  constraintText,
  expectedText,
  historyText,
  releaseText,
} from "./item-text.ts";
import { dayOf } from "./render.ts";

/** The lists of an envelope that later receivers are shown; each item is a part. */
const LISTS = [
  "doNotRedo",
  "done",
  "blocked",
  "released",
  "history",
  "artifacts",
  "constraints",
  "expects",
] as const satisfies readonly (PartKind & keyof Envelope)[];
type List = (typeof LISTS)[number];

/** Which agent reported it, when, and on which task. */
interface Provenance {
  readonly by: string;
  readonly at: number;
  readonly task: string;
}

interface Item extends Provenance {
  /** Its place: env_…#done[2]. */
  readonly id: string;
  /** Its name in the view. */
  readonly label: string;
  readonly list: List;
  readonly text: string;
}

/** Returns what earlier handoffs reported as parts, most useful and newest first. */
export function earlierParts(envelope: Envelope, line: EarlierLine): Part[] {
  const items = distinctItems(envelope, itemsOf(line));
  return items.map((item, i) => ({
    id: item.id,
    section: "earlier",
    label: item.label,
    text: blockOf(item, viewContextOf(envelope)),
    kind: item.list,
    relevance: 1 - (PROGRESS.includes(item.list) ? PROGRESS_DECAY : 1) * (i / items.length),
  }));
}

/** Task and day of a view, which its items need not repeat. */
interface ViewContext {
  readonly task: string;
  readonly day: string;
}

const viewContextOf = ({ task, metadata }: Envelope): ViewContext => ({
  task,
  day: dayOf(metadata.createdAt),
});

/**
 * Returns one item as it was shown in the view of an envelope; undefined if its source does not contain it.
 */
export function earlierBlock(
  source: Envelope,
  { id, label }: Pick<Item, "id" | "label">,
  { envelope, line }: { readonly envelope: Envelope; readonly line: EarlierLine },
): string | undefined {
  const [, list, at] = /#(\w+)\[(\d+)\]$/.exec(id) ?? [];
  const [text] = textsIn(source, list as List, line).slice(Number(at));
  return (
    text &&
    blockOf(
      { ...provenanceOf(source), id, label, list: list as List, text },
      viewContextOf(envelope),
    )
  );
}

const provenanceOf = ({ from, metadata, task }: Envelope): Provenance => ({
  by: from.agent,
  at: metadata.createdAt,
  task,
});

function itemsOf(line: EarlierLine): Item[] {
  const { envelopes, progress } = line;
  const nameOf = shortIdFormatter(envelopes.map(({ id }) => id));
  const labels = new Map(
    progress.map(({ kind, text, on, id }) => [keyOf(kind, progressText(kind, text, on)), id]),
  );
  const read = envelopes.flatMap((source) =>
    LISTS.flatMap((list) =>
      textsIn(source, list, line).map((text, i): Item => {
        const id = `${source.id}#${list}[${i}]`;
        const label = labels.get(keyOf(list, text)) ?? `${nameOf(source.id)}#${list}[${i}]`;
        return { ...provenanceOf(source), id, label, list, text };
      }),
    ),
  );
  const known = new Set(read.map(({ id }) => id));
  const older = progress.map(({ envelope, path, id: label, kind, text, on, by, at, task }) => ({
    ...{ id: `${envelope}#${path}`, label, list: kind, by, at, task },
    text: progressText(kind, text, on),
  }));
  return [...older.filter(({ id }) => !known.has(id)), ...read]
    .filter((item) => !isReleased(item, line, labels))
    .sort((a, b) => rankOf(a) - rankOf(b) || b.at - a.at);
}

/**
 * What prevents work from being done twice comes first, then what was decided and made, then what was
 * requested.
 */
const RANKS: readonly (readonly List[])[] = [
  ["doNotRedo", "done", "blocked", "released"],
  ["history", "artifacts"],
  ["constraints", "expects"],
];

const rankOf = ({ list }: Item): number => RANKS.findIndex((lists) => lists.includes(list));

const PROGRESS: readonly List[] = ["blocked", "doNotRedo", "done"];

/** How much less the oldest progress counts than the newest: little, since a dead end stays one. */
const PROGRESS_DECAY = 0.2;

/** Progress that was on the ledger and is no longer on it was released. */
function isReleased(
  { list, text }: Item,
  { released }: EarlierLine,
  labels: ReadonlyMap<string, string>,
): boolean {
  if (!PROGRESS.includes(list) || labels.has(keyOf(list, text))) return false;
  return released.some(({ kind, said }) => kind === list && text.includes(quoteText(said)));
}

const progressText = (list: List, text: string, on?: string): string => {
  switch (list) {
    case "blocked":
      return blockedText({ what: text, ...(on === undefined ? {} : { on }) });
    case "doNotRedo":
      return `do not redo: ${quoteText(text)}`;
    default:
      return `done: ${quoteText(text)}`;
  }
};

/** Returns the items of one list of an envelope as text. */
function textsIn(source: Envelope, list: List, { released }: EarlierLine): string[] {
  switch (list) {
    case "done":
    case "doNotRedo":
      return source[list].map((text) => progressText(list, text));
    case "blocked":
      return source.blocked.map(blockedText);
    case "released":
      return (source.released ?? []).map((each) =>
        releaseText(
          each,
          released.find(({ id, reason }) => id === each.id && reason === each.reason)?.said,
        ),
      );
    case "history":
      return source.history.map(historyText);
    case "artifacts":
      return source.artifacts.map((each) => artifactText(each));
    case "constraints":
      return source.constraints.map(constraintText);
    case "expects":
      return source.expects.map(expectedText);
    default:
      return [];
  }
}

/** The day is stated only if it differs from the handoff's, which the head of the view contains. */
function blockOf(item: Item, { task: on, day }: ViewContext): string {
  const { label, by, at, task } = item;
  const when = dayOf(at) === day ? "" : `, ${dayOf(at)}`;
  const about = task === on ? "" : `, on ${quoteText(task)}`;
  return `- ${label} by ${by}${when}${about}: ${withoutLabel(item)}\n`;
}

/** Removes a prefix that the label or the author already states. */
function withoutLabel({ label, by, list, text }: Item): string {
  const known = list === "history" ? by : label.startsWith(`${list}-`) ? list : undefined;
  return known !== undefined && text.startsWith(`${known}: `) ? text.slice(known.length + 2) : text;
}

/** Removes items that the envelope itself contains; of repeated items, keeps the newest. */
function distinctItems(envelope: Envelope, items: readonly Item[]): Item[] {
  const shownTexts = new Set(
    LISTS.flatMap((list) =>
      textsIn(envelope, list, EMPTY_EARLIER_LINE).map((text) => keyOf(list, text)),
    ),
  );
  return items.filter(({ list, text }) => {
    // Must-constraints are part of every envelope.
    if (list === "constraints" && text.startsWith("must ")) return false;
    const key = keyOf(list, text);
    if (shownTexts.has(key)) return false;
    shownTexts.add(key);
    return true;
  });
}

const keyOf = (list: List, text: string): string => `${list} ${text}`;

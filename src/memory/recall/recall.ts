/**
 * Recalling: the memories that answer a question, best first, each with why. By words, by what is said
 * beside them, by connection and, where an embedder is at hand, by meaning; only what the reader may
 * see. What was superseded is left out, or marked and last.
 */
import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { checkLimit, FORMAT_LIMITS } from "../../base/limits.ts";
import type { Page } from "../../base/page.ts";
import { AgentName, Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { type Query, queryOf } from "../../search/query.ts";
import { EFFORT, type ScoreParts } from "../../search/rank.ts";
import { WEIGHTS } from "../../search/weights.ts";
import type { IndexState, SearchFilter, SearchHit, SearchResult } from "../../store/search.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { requireAgent } from "../agents.ts";
import { AsOfSchema, momentOf } from "../as-of.ts";
import { type Memory, memoryOf } from "../record.ts";
import { visibilityOf } from "../visibility.ts";
import { type HitHandoff, handoffOf } from "./hit-handoff.ts";
import { reasonsOf } from "./hit-reasons.ts";
import {
  fingerprintOf,
  formatCursor,
  MAX_SHOWN_HITS,
  parseCursor,
  type RecallCursor,
} from "./recall-cursor.ts";

const Fraction = z.number().min(0).max(1);
const Instant = z.int().min(0);
const Label = z.string().min(1).max(FORMAT_LIMITS.nameLength);
const OneOrMany = <Of extends z.ZodType>(of: Of) =>
  z.union([of, z.array(of).min(1).max(FORMAT_LIMITS.tags).readonly()]).optional();

export const RecallSchema = z.strictObject({
  /** The `next` of the page before, for the same question and filters. */
  after: z.string().optional(),
  /** By whom. Several values of a filter: any of them; of tags and concepts: all of them. */
  agent: OneOrMany(AgentName),
  /** What was known then. */
  asOf: AsOfSchema.optional(),
  branch: OneOrMany(Label),
  concept: OneOrMany(Label),
  /** How far and how widely connections are followed. */
  depth: z.int().min(0).max(3).default(1),
  limit: z.int().positive().default(10),
  /** False: words and connections only. */
  meaning: z.boolean().default(true),
  minConfidence: Fraction.optional(),
  minImportance: Fraction.optional(),
  run: OneOrMany(Name),
  scope: OneOrMany(z.enum(["agent", "session", "user", "team"])),
  session: OneOrMany(Label),
  /** Stored at or after. */
  since: Instant.optional(),
  /** What was superseded or corrected: left out, or marked and after everything else. */
  superseded: z.enum(["left-out", "marked"]).default("left-out"),
  tag: OneOrMany(Label),
  task: OneOrMany(Name),
  /** Also what agents did, step by step. */
  traces: z.boolean().default(false),
  type: OneOrMany(Label),
  /** Stored before. */
  until: Instant.optional(),
  /** True at this time, as far as it says. */
  validAt: Instant.optional(),
  visits: z.int().min(0).max(2_000).default(200),
});

export type RecallQuery = z.input<typeof RecallSchema>;
type CheckedRecallQuery = z.output<typeof RecallSchema>;

/** A memory that answers, and why it does. */
export interface Hit {
  readonly memory: Memory;
  readonly score: number;
  /** What the score is made of. */
  readonly parts: ScoreParts;
  /** The same in words, most important first. */
  readonly why: readonly string[];
  /** Words of the question that it says, and that are said right beside it. */
  readonly said: readonly string[];
  readonly heard: readonly string[];
  /** The part of the handoff or result that answers, where that is not in the memory's content. */
  readonly passage?: string | undefined;
  /** There when the memory sends a handoff, or is about one: its result, its failure. */
  readonly handoff?: HitHandoff | undefined;
  /** Memories by which it was superseded or corrected. */
  readonly supersededBy: readonly string[];
}

export interface RecallResult extends Page<Hit> {
  /** How far the index has come: what lies beyond is scanned. */
  readonly index: IndexState;
  /** How meaning was compared, or why it was not. */
  readonly meaning: string;
}

export async function recall(
  workspace: Workspace,
  question: string,
  query: RecallQuery,
): Promise<RecallResult> {
  const text = checkedQuestion(question);
  const checked = parseOrThrow(RecallSchema, query, { code: "invalid_input", what: "The query" });
  checkLimit(workspace.limits, "pageSize", { actual: checked.limit, path: "limit" });
  const fingerprint = fingerprintOf(text, { ...checked, after: undefined, limit: undefined });
  const page = checked.after === undefined ? undefined : parseCursor(checked.after, fingerprint);
  const [sight, filter, now, asked] = await Promise.all([
    visibilityOf(workspace, { asOf: checked.asOf, traces: checked.traces }),
    filterOf(workspace, checked),
    page?.now ?? timeOf(workspace, checked),
    workspace.meaning.ask(workspace, text, checked.meaning),
  ]);
  const terms = queryOf(text, asked.near);
  const found = await workspace.store.search({
    workspace: workspace.name,
    sight,
    filter,
    ranking: {
      query: terms,
      weights: WEIGHTS,
      now,
      graph: { depth: checked.depth, visits: checked.visits },
      superseded: checked.superseded,
      effort: EFFORT,
    },
    limit: checked.limit,
    ...(page === undefined ? {} : { upTo: page.upTo, shown: page.shown }),
    ...(asked.meant === undefined ? {} : { meant: asked.meant }),
  });
  const next = nextPage(found, { fingerprint, now, shown: page?.shown ?? [] });
  return {
    items: found.hits.map((hit) => hitOf(hit, terms)),
    ...(next === undefined ? {} : { next }),
    index: found.index,
    meaning: asked.meant === undefined ? asked.state : found.vectors,
  };
}

function nextPage(
  { hits, more, upTo }: SearchResult,
  before: Omit<RecallCursor, "upTo">,
): string | undefined {
  const shown = [...before.shown, ...hits.map(({ pos }) => pos)];
  return more && shown.length < MAX_SHOWN_HITS
    ? formatCursor({ ...before, upTo, shown })
    : undefined;
}

function checkedQuestion(question: unknown): string {
  const text = parseOrThrow(z.string().min(1).max(FORMAT_LIMITS.textLength), question, {
    code: "invalid_input",
    what: "The question",
    prefix: "question",
  });
  if (/[\p{L}\p{N}]/u.test(text)) return text;
  throw new BatonError("invalid_input", {
    message: "The question has no word in it.",
    path: "question",
    hint: 'Ask in words, for instance "why did we choose REST?".',
  });
}

async function timeOf(workspace: Workspace, { asOf }: CheckedRecallQuery): Promise<number> {
  if (asOf === undefined) return workspace.clock.now();
  const moment = await momentOf(workspace, asOf);
  if (moment.kind === "time") return moment.at;
  const [row] = await workspace.store.readMemories(workspace.name, [moment.id]);
  return row?.storedAt ?? workspace.clock.now();
}

/** Names of agents may be aliases. */
async function filterOf(workspace: Workspace, checked: CheckedRecallQuery): Promise<SearchFilter> {
  const { agent, branch, concept, run, scope, session, tag, task, type } = checked;
  const agents = await Promise.all(
    (listOf(agent) ?? []).map(async (name) => (await requireAgent(workspace, name)).id),
  );
  const { minImportance, minConfidence, since, until, validAt } = checked;
  return Object.fromEntries(
    Object.entries({
      agents: agent === undefined ? undefined : agents,
      branches: listOf(branch),
      concepts: listOf(concept),
      runs: listOf(run),
      scopes: listOf(scope),
      sessions: listOf(session),
      tags: listOf(tag),
      tasks: listOf(task),
      types: listOf(type),
      minConfidence,
      minImportance,
      since,
      until,
      validAt,
    }).filter(([, value]) => value !== undefined),
  );
}

const listOf = <T>(value: T | readonly T[] | undefined): readonly T[] | undefined =>
  value === undefined || Array.isArray(value) ? (value as readonly T[] | undefined) : [value as T];

function hitOf(hit: SearchHit, { terms }: Query): Hit {
  const words = (places: readonly number[]): string[] =>
    places.flatMap((place) => terms[place]?.word ?? []);
  const memory = memoryOf(hit.row);
  const handoff = handoffOf(memory);
  return {
    memory,
    score: hit.score,
    parts: hit.parts,
    why: reasonsOf(hit, terms),
    said: words(hit.said),
    heard: words(hit.heard),
    ...(hit.passage === undefined ? {} : { passage: hit.passage }),
    ...(handoff && { handoff }),
    supersededBy: hit.supersededBy,
  };
}

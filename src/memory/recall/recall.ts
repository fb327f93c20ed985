/**
 * Recalls the memories that answer a question, best first, each with the reasons. Ranks by words, by
 * neighbouring records, by relations and, with an embedder, by meaning; returns only what the reader may see.
 * Superseded memories are left out, or marked and ranked last.
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

/** Input of recall(). Several values of a filter match any of them; for tags and concepts, all of them. */
export const RecallSchema = z.strictObject({
  /** The `next` of the previous page, for the same question and filters. */
  after: z.string().optional(),
  /** The authors, by id or alias. */
  agent: OneOrMany(AgentName),
  /** The moment to look back to. Default: now. */
  asOf: AsOfSchema.optional(),
  branch: OneOrMany(Label),
  concept: OneOrMany(Label),
  /** How many relations away from a hit related memories are considered. Default: 1. */
  depth: z.int().min(0).max(3).default(1),
  /** Default: 10; at most `pageSize`. */
  limit: z.int().positive().default(10),
  /** Whether to compare by meaning; false: words and relations only. Default: true. */
  meaning: z.boolean().default(true),
  minConfidence: Fraction.optional(),
  minImportance: Fraction.optional(),
  run: OneOrMany(Name),
  scope: OneOrMany(z.enum(["agent", "session", "user", "team"])),
  session: OneOrMany(Label),
  /** Only memories stored at or after this time, in ms since the epoch. */
  since: Instant.optional(),
  /** Whether superseded and corrected memories are left out, or marked and ranked last. */
  superseded: z.enum(["left-out", "marked"]).default("left-out"),
  tag: OneOrMany(Label),
  task: OneOrMany(Name),
  /** Whether to include traces (what agents did, step by step). Default: false. */
  traces: z.boolean().default(false),
  type: OneOrMany(Label),
  /** Only memories stored before this time, in ms since the epoch. */
  until: Instant.optional(),
  /** Only memories valid at this time (ms since the epoch), according to validFrom and validUntil. */
  validAt: Instant.optional(),
  /** The most related memories that are considered. Default: 200. */
  visits: z.int().min(0).max(2_000).default(200),
});

/** Options of recall() as a caller passes them. */
export type RecallQuery = z.input<typeof RecallSchema>;
type CheckedRecallQuery = z.output<typeof RecallSchema>;

/** A memory that matched, with the reasons. */
export interface Hit {
  readonly memory: Memory;
  readonly score: number;
  /** The parts of the score. */
  readonly parts: ScoreParts;
  /** The reasons in words, most important first. */
  readonly why: readonly string[];
  /** The words of the question that the memory contains. */
  readonly matchedWords: readonly string[];
  /** The words of the question that a neighbouring record contains. */
  readonly neighbourWords: readonly string[];
  /** The part of the handoff or result that matched, if it is not in the memory's content. */
  readonly passage?: string | undefined;
  /** Present if the memory sends a handoff or concerns one, such as its result or failure. */
  readonly handoff?: HitHandoff | undefined;
  /** Ids of the memories that superseded or corrected it. */
  readonly supersededBy: readonly string[];
}

/** A page of hits. */
export interface RecallResult extends Page<Hit> {
  /** How far the index is; later records are scanned. */
  readonly index: IndexState;
  /** How meaning was compared, or why it was not. */
  readonly meaning: string;
}

/** Recalls memories. Throws `invalid_input` for a question without words, and `unknown_agent`. */
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
    message: "The question contains no words.",
    path: "question",
    hint: 'Ask in words, for example "why did we choose REST?".',
  });
}

async function timeOf(workspace: Workspace, { asOf }: CheckedRecallQuery): Promise<number> {
  if (asOf === undefined) return workspace.clock.now();
  const moment = await momentOf(workspace, asOf);
  if (moment.kind === "time") return moment.at;
  const [row] = await workspace.store.readMemories(workspace.name, [moment.id]);
  return row?.storedAt ?? workspace.clock.now();
}

/** Builds the filter; agents given by alias are resolved to their ids. */
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
    matchedWords: words(hit.matchedTerms),
    neighbourWords: words(hit.neighbourTerms),
    ...(hit.passage === undefined ? {} : { passage: hit.passage }),
    ...(handoff && { handoff }),
    supersededBy: hit.supersededBy,
  };
}

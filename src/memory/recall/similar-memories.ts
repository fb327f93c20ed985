/**
 * Search first: what is known already of something that is about to be written. Candidates come from the
 * same search as everything else, so what was acknowledged a moment ago is found too; whether one says
 * the same or speaks against it is for search/likeness.ts. Only what holds now counts: nothing that was
 * superseded, corrected, quarantined or has ended, no traces, and nothing the writer may not see.
 */

import type { WordSimilarity } from "../../search/compare-statements.ts";
import { judge } from "../../search/duplicate-detection.ts";
import { bundledWordVectors } from "../../search/embedding/word-vectors.ts";
import { LIGHT_WEIGHT, statementOf } from "../../search/statement.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { Memory, MemoryInput } from "../record.ts";
import { recall } from "./recall.ts";

/** What can be done instead of leaving two records side by side, as the input that does it. */
export interface RelationSuggestion {
  readonly relation: "continues-from" | "supersedes" | "corrects";
  readonly input: MemoryInput;
}

/** A record that holds, and what the new one is to it. */
export interface SimilarMemory {
  readonly memory: Memory;
  readonly verdict: "same" | "contradicts";
  /** How much of what both say is said by both, from 0 to 1. */
  readonly likeness: number;
  readonly why: string;
  /** The fitting one first. */
  readonly offers: readonly RelationSuggestion[];
}

/** What is compared of two records. */
type Comparable = Pick<MemoryInput, "content" | "task" | "type" | "scope">;

/** Records that are looked at closely. Of the labelled pairs, five lose none and three one in sixty. */
const CANDIDATES = 12;
/** Of a long text so many words are asked for: what says the same has most of them. */
const MAX_QUERY_WORDS = 48;

/** Best first: what says the same, then what speaks against it. Of these types, if any are named. */
export async function searchSimilarMemories(
  workspace: Workspace,
  input: MemoryInput,
  types: readonly string[] = [],
): Promise<readonly SimilarMemory[]> {
  const question = searchTextOf(input.content);
  if (question === "") return [];
  // By words alone: an append never waits for an embedding server, and what is judged is words.
  const { items: hits } = await recall(workspace, question, {
    limit: Math.min(CANDIDATES, workspace.limits.pageSize),
    depth: 0,
    visits: 0,
    meaning: false,
    ...(types.length === 0 ? {} : { type: types }),
  });
  const now = workspace.clock.now();
  const said = acknowledgedIdsOf(input);
  return hits
    .map(({ memory }) => memory)
    .filter((memory) => memory.id !== input.id && !said.has(memory.id))
    .filter((memory) => isLive(memory, now) && isScopeAsWide(memory, input))
    .flatMap((memory) => judgeMemory(memory, input))
    .sort(byImportance);
}

/** What an input is to one record: at most one entry. */
export function judgeMemory(memory: Memory, input: MemoryInput): readonly SimilarMemory[] {
  const { verdict, likeness, why } = judgeRecords(memory, input);
  if (verdict === "other") return [];
  return [{ memory, verdict, likeness, why, offers: suggestionsFor(memory, input, verdict) }];
}

export function byImportance(a: SimilarMemory, b: SimilarMemory): number {
  if (a.verdict !== b.verdict) return a.verdict === "same" ? -1 : 1;
  return b.likeness - a.likeness;
}

/** A note so short says what it says of its task only: "Tests pass." */
const SHORT = 4;

export function judgeRecords(known: Comparable, said: Comparable): ReturnType<typeof judge> {
  const judgement = judge(known.content, said.content, nearness);
  const isAsked = isQuestion(known) !== isQuestion(said);
  const isApart = known.task !== undefined && said.task !== undefined && known.task !== said.task;
  const isShort = (): boolean =>
    statementOf(said.content).tokens.filter(({ weight }) => weight > LIGHT_WEIGHT).length < SHORT;
  return isAsked || (isApart && isShort()) ? { ...judgement, verdict: "other" } : judgement;
}

/** Who asks whether something is so does not say that it is. */
const isQuestion = ({ type, content }: Comparable): boolean =>
  type === "question" || /[?？]\s*$/.test(content);

/** Ended ones hold no more; what the hub itself wrote about a delivery is nobody's statement. */
function isLive({ validUntil = Number.MAX_SAFE_INTEGER, trail }: Memory, now: number): boolean {
  return validUntil > now && trail === undefined;
}

/** What only its writer can see is not known to those the new record is for. */
function isScopeAsWide({ scope = "team" }: Memory, input: Comparable): boolean {
  return scope === "team" || scope === input.scope;
}

/** Who names a record in one of these ways knows of it. */
const ACKNOWLEDGING_KINDS: ReadonlySet<string> = new Set([
  "continues-from",
  "supersedes",
  "corrects",
  "contradicts",
]);

export function acknowledgedIdsOf({ relations = [] }: MemoryInput): ReadonlySet<string> {
  return new Set(relations.filter(({ kind }) => ACKNOWLEDGING_KINDS.has(kind)).map(({ to }) => to));
}

/** Something that was said twice goes on from the first; what speaks against it takes its place. */
const RELATIONS = {
  same: ["continues-from", "supersedes", "corrects"],
  contradicts: ["supersedes", "corrects", "continues-from"],
} as const;

function suggestionsFor(
  memory: Memory,
  input: MemoryInput,
  verdict: SimilarMemory["verdict"],
): readonly RelationSuggestion[] {
  return RELATIONS[verdict].map((relation) => ({
    relation,
    input: { ...input, relations: [...(input.relations ?? []), { kind: relation, to: memory.id }] },
  }));
}

/** Less in common than this, and they are neither the same nor against each other. */
const MIN_OVERLAP = 0.3;

/** For each text of a list, the earlier ones worth judging: all pairs of a large batch would be slow. */
export function findEarlierCandidates(texts: readonly string[]): readonly (readonly number[])[] {
  const having = new Map<string, number[]>();
  return texts.map((text, i) => {
    const telling = statementOf(text).tokens.filter(({ weight }) => weight > LIGHT_WEIGHT);
    const keys = new Set(telling.map(({ key }) => key));
    const shared = new Map<number, number>();
    for (const key of keys) {
      const places = having.get(key) ?? [];
      for (const place of places) shared.set(place, (shared.get(place) ?? 0) + 1);
      places.push(i);
      having.set(key, places);
    }
    return [...shared].flatMap(([place, n]) => (n >= MIN_OVERLAP * keys.size ? [place] : []));
  });
}

/** The words of a text that tell most, once each, in order; all of a short one. */
function searchTextOf(content: string): string {
  const { tokens } = statementOf(content);
  const distinct = [...new Map(tokens.map((token) => [token.key, token])).values()];
  const telling = distinct.toSorted(
    (a, b) => b.weight - a.weight || b.word.length - a.word.length || a.at - b.at,
  );
  return telling
    .slice(0, MAX_QUERY_WORDS)
    .sort((a, b) => a.at - b.at)
    .map(({ word }) => word)
    .join(" ");
}

/** From the bundled table, whatever embedder the hub has: one word at a time, at once. */
export const nearness: WordSimilarity = (a, b) => {
  const words = bundledWordVectors();
  const [x, y] = [words.vectorOf(a), words.vectorOf(b)];
  return x.reduce((sum, value, d) => sum + value * (y[d] as number), 0);
};

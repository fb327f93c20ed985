/**
 * What is settled: a statement that says again, or speaks against, a decision or a constraint that the
 * team remembers and that holds. Said again it may drift from what was decided, so a reference is
 * better; against it somebody has to decide anew first. By words alone (search/likeness.ts), and in
 * doubt neither.
 */
import { ledgerOf } from "../../ledger/ledger.ts";
import {
  judgeRecords,
  type SimilarMemory,
  searchSimilarMemories,
} from "../../memory/recall/similar-memories.ts";
import { statementsOf } from "../../search/statement.ts";
import type { TextWithPath } from "./handoff-content.ts";
import type { HandoffContent, LintRule, LintSubject, Remark } from "./rule.ts";

/** What a team settles things with. */
const DECISION_TYPES = ["decision", "constraint"];
/** Statements that are looked for at the same time. */
const CONCURRENT_SEARCHES = 8;

interface StatementMatch extends TextWithPath {
  readonly known: SimilarMemory;
}

export const repeatsDecision: LintRule = {
  level: "warn",
  meaning:
    "A statement says what a decision or constraint of the team says, without referring to it",

  async query(subject) {
    const referred = new Set(subject.letter.refs.map(({ id }) => id));
    const same = (await findMatches(subject)).filter(
      ({ known }) => known.verdict === "same" && !referred.has(known.memory.id),
    );
    return same.map(({ path, known: { memory } }) => ({
      path,
      message: `${path}: says what ${memory.type} ${memory.id} of ${memory.agent} says`,
      hint: `Refer to it instead, refs: ["${memory.id}"]: a reference stays true when it changes.`,
    }));
  },
};

export const contradictsDecision: LintRule = {
  level: "error",
  meaning: "A statement speaks against a decision or constraint of the team that holds",

  async query(subject) {
    const against = (await findMatches(subject)).filter(
      ({ known }) => known.verdict === "contradicts",
    );
    const remarks = against.map(
      ({ path, known: { memory, why } }): Remark => ({
        path,
        message: `${path}: speaks against ${memory.type} ${memory.id} of ${memory.agent} (${why})`,
        hint: `Keep to it, or decide anew first: remember a decision that supersedes ${memory.id}.`,
      }),
    );
    return [...remarks, ...(await findLedgerConflicts(subject))];
  },
};

/** Statements that are held against what the task's line carries; more are no more use to a reader. */
const MAX_STATEMENTS = 100;

/** What follows the task to its end binds as well: its musts, unless this handoff releases them. */
async function findLedgerConflicts({ workspace, letter }: LintSubject): Promise<Remark[]> {
  const { task, released = [] } = letter;
  const ledger = task === undefined ? undefined : await ledgerOf(workspace, task);
  if (ledger === undefined) return [];
  const off = new Set(released.map(({ id }) => id));
  const musts = ledger.constraints.filter(({ id }) => !off.has(id));
  return statementsIn(letter)
    .slice(0, MAX_STATEMENTS)
    .flatMap(({ path, text }) =>
      musts.flatMap(({ id, rule }): Remark[] => {
        const { verdict, why } = judgeRecords({ content: rule }, { content: text });
        if (verdict !== "contradicts") return [];
        return [
          {
            path,
            message: `${path}: speaks against ${id}, which must hold on "${task}" (${why})`,
            hint: `Keep to it, or take it off the line first, releases: [{ id: "${id}", reason: "…" }].`,
          },
        ];
      }),
    );
}

/** Two rules ask the same of a subject. */
const matchesBySubject = new WeakMap<LintSubject, Promise<readonly StatementMatch[]>>();

function findMatches(subject: LintSubject): Promise<readonly StatementMatch[]> {
  const before = matchesBySubject.get(subject) ?? searchMatches(subject);
  matchesBySubject.set(subject, before);
  return before;
}

async function searchMatches({
  workspace,
  letter,
}: LintSubject): Promise<readonly StatementMatch[]> {
  const statements = statementsIn(letter);
  const { task } = letter;
  const look = async ({ path, text }: TextWithPath): Promise<StatementMatch[]> => {
    const input = { content: text, type: "decision", ...(task === undefined ? {} : { task }) };
    const found = await searchSimilarMemories(workspace, input, DECISION_TYPES);
    return found.map((known) => ({ path, text, known }));
  };
  const all: StatementMatch[] = [];
  for (let at = 0; at < statements.length; at += CONCURRENT_SEARCHES) {
    const some = statements.slice(at, at + CONCURRENT_SEARCHES);
    all.push(...(await Promise.all(some.map(look))).flat());
  }
  return distinctMatches(all);
}

/** What a sender claims to hold, or wants done: state, steps, constraints, and what was decided. */
function statementsIn({ state, next, constraints, history }: HandoffContent): TextWithPath[] {
  return [
    ...statementsOf(state ?? "").map(({ text }) => ({ path: "state", text })),
    ...next.map((text, i) => ({ path: `next[${i}]`, text })),
    ...constraints.map(({ rule }, i) => ({ path: `constraints[${i}].rule`, text: rule })),
    ...history.flatMap(({ decided }, i) =>
      decided === undefined ? [] : [{ path: `history[${i}].decided`, text: decided }],
    ),
  ];
}

/** Several sentences of one field can meet the same record. */
function distinctMatches(all: readonly StatementMatch[]): StatementMatch[] {
  const seen = new Map<string, Set<string>>();
  return all.filter(({ path, known }) => {
    const here = seen.get(path) ?? new Set<string>();
    seen.set(path, here);
    if (here.has(known.memory.id)) return false;
    here.add(known.memory.id);
    return true;
  });
}

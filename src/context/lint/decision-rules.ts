/**
 * Lint rules `repeats_decision` and `contradicts_decision`: a statement repeats or contradicts an active
 * decision or constraint of the team. A repeated statement may differ from the decision in detail, so a
 * reference is better; a contradicting one requires a new decision first. The rules compare words only
 * (search/duplicate-detection.ts), and report nothing in case of doubt.
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

/** Types of memories that settle a question. */
const DECISION_TYPES = ["decision", "constraint"];
/** Statements that are searched concurrently. */
const CONCURRENT_SEARCHES = 8;

interface StatementMatch extends TextWithPath {
  readonly known: SimilarMemory;
}

/** Reports statements that repeat a decision or constraint without a reference to it. */
export const repeatsDecision: LintRule = {
  level: "warn",
  meaning: "A statement repeats a decision or constraint of the team without referring to it",

  async query(subject) {
    const referred = new Set(subject.letter.refs.map(({ id }) => id));
    const same = (await findMatches(subject)).filter(
      ({ known }) => known.verdict === "same" && !referred.has(known.memory.id),
    );
    return same.map(({ path, known: { memory } }) => ({
      path,
      message: `${path}: repeats ${memory.type} ${memory.id} of ${memory.agent}`,
      hint: `Refer to it instead, refs: ["${memory.id}"]: a reference stays true when it changes.`,
    }));
  },
};

/**
 * Reports statements that contradict an active decision or constraint, including those on the task's ledger.
 */
export const contradictsDecision: LintRule = {
  level: "error",
  meaning: "A statement contradicts an active decision or constraint of the team",

  async query(subject) {
    const against = (await findMatches(subject)).filter(
      ({ known }) => known.verdict === "contradicts",
    );
    const remarks = against.map(
      ({ path, known: { memory, why } }): Remark => ({
        path,
        message: `${path}: contradicts ${memory.type} ${memory.id} of ${memory.agent} (${why})`,
        hint: `Follow it, or decide again first: remember a decision that supersedes ${memory.id}.`,
      }),
    );
    return [...remarks, ...(await findLedgerConflicts(subject))];
  },
};

/** Statements compared with the task's ledger; more findings would not help a reader. */
const MAX_STATEMENTS = 100;

/** Finds contradictions to the must-constraints on the task's ledger, except those this handoff releases. */
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
            message: `${path}: contradicts constraint ${id} of "${task}" (${why})`,
            hint: `Follow it, or release it from the ledger first, releases: [{ id: "${id}", reason: "…" }].`,
          },
        ];
      }),
    );
}

/** The matches of a subject, which both rules need. */
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

/** Returns the statements of a handoff: state, steps, constraints and what was decided. */
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

/** Keeps one match per path and record: several sentences of a field can match the same record. */
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

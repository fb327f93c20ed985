/**
 * Earlier attempts at a delivery, for its next holder: which agent made them, how they ended, what was
 * attempted, hints and notes; questions with their answers; decisions about failures with their reasons.
 */
import { clip } from "../base/clip.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import type { Envelope } from "../envelope/schema.ts";
import { withoutQuarantined } from "../memory/quarantine/quarantine-mark.ts";
import { memoryOf } from "../memory/record.ts";
import { branchOf, parseEnvelope } from "../store/parse-envelope.ts";
import { type AttemptRow, type DeliveryRow, isHeld } from "../store/rows.ts";
import { VIEW_TYPE } from "../store/search.ts";
import type { DeliveryWithEnvelopeRow } from "../store/store.ts";
import { publicVisibility } from "../store/visibility.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { reasonOf } from "./attempt.ts";
import { acceptancesOf, STALE_HOLDER } from "./delivery-records.ts";
import { failureOf } from "./failure.ts";
import { listDecisions, type StoredFailureDecision } from "./failure-decisions.ts";

/** A note that a holder wrote during an attempt. */
export interface AttemptNote {
  /** Id of the memory. */
  readonly id: string;
  /** Time in milliseconds since 1970. */
  readonly at: number;
  readonly text: string;
}

/** An attempt that ended without completing the work. */
export interface EarlierAttempt {
  readonly attempt: number;
  /** The agent that made the attempt; absent if the delivery was not claimed. */
  readonly by?: string;
  /** End of the attempt: store time in milliseconds. */
  readonly at: number;
  readonly outcome: AttemptRow["outcome"];
  /** Type of the failure, such as timeout. */
  readonly type?: string;
  /** Why it ended. */
  readonly message?: string;
  /** What the holder attempted. */
  readonly attempted?: string;
  /** Hints of the holder for the next attempt. */
  readonly hints: readonly string[];
  /** Notes of the holder, oldest first; at most 20. */
  readonly notes: readonly AttemptNote[];
  /** The question that the holder asked, if the attempt ended with one. */
  readonly question?: string;
  /** The answer; absent if there is none yet. */
  readonly answer?: { readonly by: string; readonly text: string };
  /** The decision about the failure. */
  readonly decision?: Pick<StoredFailureDecision, "by" | "decision" | "reason" | "to">;
}

const MAX_NOTES = 20;
const MAX_EDGES = 1_000;

/** Returns the attempts before the current one, oldest first. Takes at most one query if there are none. */
export async function earlierAttempts(
  workspace: Workspace,
  claimed: DeliveryWithEnvelopeRow,
): Promise<readonly EarlierAttempt[]> {
  const { delivery } = claimed;
  if (!wasClaimedBefore(delivery)) return [];
  const rows = await workspace.store.readAttempts(workspace.name, delivery.id);
  if (rows.length === 0) return [];
  const { history } = parseEnvelope(workspace, claimed.envelope);
  const [notes, decisions] = await Promise.all([
    notesByAttempt(workspace, claimed),
    listDecisions(workspace, delivery.id),
  ]);
  return rows.map((row) => ({
    ...attemptEndOf(row, history),
    notes: notes.get(row.attempt) ?? [],
    ...decisionAfter(decisions, row.attempt),
  }));
}

/**
 * Returns true if there was a claim before the current one: the fence counts every claim, including the
 * current one.
 */
export const wasClaimedBefore = ({ state, fence }: DeliveryRow): boolean =>
  fence > (isHeld(state) ? 1 : 0);

type AttemptEnd = Omit<EarlierAttempt, "decision" | "notes">;

function attemptEndOf(row: AttemptRow, history: Envelope["history"]): AttemptEnd {
  const { attempt, holder, endedAt: at, outcome } = row;
  const base = { attempt, ...(holder === "" ? {} : { by: holder }), at, outcome };
  if (outcome === "asked") return { ...base, hints: [], ...questionOf(row, history) };
  const { message, type, attempted, hints } = failureOf(row);
  return { ...base, type, message, ...(attempted === undefined ? {} : { attempted }), hints };
}

function questionOf(
  row: AttemptRow,
  history: Envelope["history"],
): Pick<EarlierAttempt, "answer" | "question"> {
  const { question } = reasonOf(row);
  if (typeof question !== "string") return {};
  const did = answerEntryText(question);
  const entry = history.findLast((each) => each.did === did);
  if (entry?.decided === undefined) return { question };
  return { question, answer: { by: entry.agent, text: entry.decided } };
}

/** Returns the text with which the history of an envelope names the question that an entry answers. */
export const answerEntryText = (question: string): string =>
  clip(`answered: ${question}`, FORMAT_LIMITS.lineLength);

function decisionAfter(
  decisions: readonly (StoredFailureDecision & { readonly attempt: number })[],
  attempt: number,
): Pick<EarlierAttempt, "decision"> {
  const found = decisions.findLast((each) => each.attempt === attempt);
  if (found === undefined) return {};
  const { by, decision, reason, to } = found;
  return { decision: { by, decision, reason, ...(to === undefined ? {} : { to }) } };
}

/** Returns the notes that every agent can read, by attempt. */
async function notesByAttempt(
  workspace: Workspace,
  claimed: DeliveryWithEnvelopeRow,
): Promise<ReadonlyMap<number, readonly AttemptNote[]>> {
  const { acceptedBy } = claimed.delivery;
  const branch = branchOf(claimed.envelope);
  const before = (await acceptancesOf(workspace, claimed)).filter(({ id }) => id !== acceptedBy);
  const notes = await Promise.all(
    before.map(async (acceptance) => {
      const steps = acceptance.trail ?? [];
      const [attempt = 0] = steps.flatMap((step) => (step.verb === "accept" ? [step.attempt] : []));
      const under = await notesUnder(workspace, acceptance.id, branch ?? acceptance.branch);
      return [attempt, under] as const;
    }),
  );
  return new Map(notes);
}

async function notesUnder(
  workspace: Workspace,
  acceptance: string,
  branch: string,
): Promise<AttemptNote[]> {
  const { store, name } = workspace;
  const edges = await store.findRelations({
    workspace: name,
    memory: acceptance,
    direction: "in",
    sight: publicVisibility(branch),
    kinds: ["continues-from"],
    limit: MAX_EDGES,
  });
  const rows = await store.readMemories(
    name,
    edges.slice(-MAX_NOTES).map(({ source }) => source),
  );
  const notes = rows.map(memoryOf).filter(
    // Notes that a holder wrote after losing the lease are excluded.
    ({ type, trail, redacted, tags = [] }) =>
      type !== VIEW_TYPE && !trail && !redacted && !tags.includes(STALE_HOLDER),
  );
  return (await withoutQuarantined(workspace, notes)).map(({ id, createdAt, content }) => ({
    id,
    at: createdAt,
    text: content,
  }));
}

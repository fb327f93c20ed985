/**
 * Finds what happened to the deliveries of a task and left no record, because no agent acted: a holder
 * stopped responding, no agent accepted in time, a deadline passed. Read from the attempts, which are kept
 * longer than events.
 */
import { failureOf } from "../../history/failure.ts";
import { SYSTEM } from "../../memory/system-author.ts";
import type { AttemptRow, DeliveryRow } from "../../store/rows.ts";
import type { LineEntry } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { TimelineStep, UnrecordedKind } from "./step.ts";

/** The kind of step by the outcome of an attempt; undefined if a record states the outcome. */
const KINDS: Readonly<Record<AttemptRow["outcome"], UnrecordedKind | undefined>> = {
  failed: undefined,
  declined: undefined,
  asked: undefined,
  cancelled: undefined,
  released: "released",
  expired: "silent",
  accept_timeout: "not_accepted",
  stopped: "stopped",
};

/** Returns the steps without a record of a line. */
export async function readUnrecordedSteps(
  { store, name }: Workspace,
  line: readonly LineEntry[],
): Promise<readonly TimelineStep[]> {
  const deliveries = line.flatMap((entry) => entry.deliveries);
  const steps = await Promise.all(
    deliveries.filter(mayHaveAttempts).map(async (delivery) => {
      const attempts = await store.readAttempts(name, delivery.id);
      return [
        ...attempts.flatMap((ended) => unrecordedStepsOf(delivery, ended)),
        ...deadlineStepsOf(delivery, attempts),
      ];
    }),
  );
  return steps.flat();
}

/**
 * Returns false for deliveries that cannot have such attempts: most complete at the first attempt and need no
 * query.
 */
function mayHaveAttempts({ attempt, state }: DeliveryRow): boolean {
  const isFirst = attempt <= 1 && (state === "accepted" || state === "completed");
  return !isFirst && !(attempt === 0 && state === "ready");
}

function unrecordedStepsOf(delivery: DeliveryRow, ended: AttemptRow): TimelineStep[] {
  const kind = KINDS[ended.outcome];
  if (kind === undefined || isEndedByDeadline(delivery, ended)) return [];
  const failure = failureOf(ended);
  const { endedAt: at, holder, attempt } = ended;
  return [
    {
      ...deliveryFieldsOf(delivery),
      at,
      attempt,
      kind,
      agent: holder || SYSTEM,
      text: failure.message,
      failure,
    },
  ];
}

/** Returns the step of a passed deadline, whether an agent held the delivery or not. */
function deadlineStepsOf(delivery: DeliveryRow, attempts: readonly AttemptRow[]): TimelineStep[] {
  if (delivery.state !== "expired") return [];
  const { settledAt: at, attempt } = delivery;
  const held = attempts.find((each) => isEndedByDeadline(delivery, each));
  const failure = failureOf(held, true);
  const agent = held?.holder || SYSTEM;
  return [
    {
      ...deliveryFieldsOf(delivery),
      at,
      attempt,
      kind: "deadline_passed",
      agent,
      text: failure.message,
      failure,
    },
  ];
}

/** Returns true for the attempt that the deadline ended. */
const isEndedByDeadline = (
  { state, settledAt }: DeliveryRow,
  { outcome, endedAt }: AttemptRow,
): boolean => state === "expired" && outcome === "expired" && endedAt === settledAt;

const deliveryFieldsOf = ({ id, task }: DeliveryRow): Pick<TimelineStep, "delivery" | "task"> => ({
  delivery: id,
  task,
});

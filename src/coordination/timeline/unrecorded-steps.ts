/**
 * What happened to a task's deliveries and left no record, because nobody did anything: a holder fell
 * silent, nobody accepted in time, a deadline passed. Read from the tries, which outlive the events.
 */
import { failureOf } from "../../history/failure.ts";
import { SYSTEM } from "../../memory/agents.ts";
import type { AttemptRow, DeliveryRow } from "../../store/rows.ts";
import type { LineEntry } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { TimelineStep, UnrecordedKind } from "./step.ts";

/** Tries that end by a record of their own are told by that. */
const KINDS: Readonly<Record<AttemptRow["outcome"], UnrecordedKind | undefined>> = {
  failed: undefined,
  declined: undefined,
  asked: undefined,
  cancelled: undefined,
  released: "released",
  expired: "silent",
  unaccepted: "not_accepted",
  stopped: "stopped",
};

export async function readUnrecordedSteps(
  { store, name }: Workspace,
  line: readonly LineEntry[],
): Promise<readonly TimelineStep[]> {
  const deliveries = line.flatMap((entry) => entry.deliveries);
  const steps = await Promise.all(
    deliveries.filter(mayHaveAttempts).map(async (delivery) => {
      const tries = await store.readAttempts(name, delivery.id);
      return [
        ...tries.flatMap((ended) => unrecordedStepsOf(delivery, ended)),
        ...deadlineStepsOf(delivery, tries),
      ];
    }),
  );
  return steps.flat();
}

/** Most are completed at the first try, and need no look. */
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

/** Its deadline passed, whether somebody held it then or not. */
function deadlineStepsOf(delivery: DeliveryRow, tries: readonly AttemptRow[]): TimelineStep[] {
  if (delivery.state !== "expired") return [];
  const { settledAt: at, attempt } = delivery;
  const held = tries.find((each) => isEndedByDeadline(delivery, each));
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

/** The try that the deadline itself ended. */
const isEndedByDeadline = (
  { state, settledAt }: DeliveryRow,
  { outcome, endedAt }: AttemptRow,
): boolean => state === "expired" && outcome === "expired" && endedAt === settledAt;

const deliveryFieldsOf = ({ id, task }: DeliveryRow): Pick<TimelineStep, "delivery" | "task"> => ({
  delivery: id,
  task,
});

/** Waiting for what comes of a delivery: that somebody has taken it up, or that it is over. */
import * as z from "zod";
import type { Envelope } from "../../envelope/schema.ts";
import { parseOr } from "../../envelope/violations.ts";
import { endOfLine } from "../../history/line-end.ts";
import { type Ended, endedAs, isEnded } from "../../history/outcome.ts";
import { type DeliveryRow, isOpen } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { changesOf } from "./watch.ts";

/** How long the sender of a handoff waits to hear that somebody has it, unless told. */
const ACCEPTED_WITHIN_MS = 15_000;

/** Where a policy says how long each try may take, until that has come to an end: no time of its own. */
export const patienceWith = ({ policy }: Pick<Envelope, "policy">): number | undefined =>
  policy?.acceptMs === undefined ? ACCEPTED_WITHIN_MS : undefined;

const WaitSchema = z.strictObject({
  /** Ends the wait. */
  signal: z.instanceof(AbortSignal).optional(),
  timeoutMs: z.number().min(0).optional(),
});
export type WaitOptions = z.input<typeof WaitSchema>;

const CompletedSchema = WaitSchema.extend({
  /** True: handed on, it is not over; wait for the end of the line. */
  line: z.boolean().default(false),
});
export type CompletedOptions = z.input<typeof CompletedSchema>;

const OPTIONS = { code: "invalid_input", what: "The options", unwritten: "signal" } as const;

export const checkedCompleted = (options: CompletedOptions): z.output<typeof CompletedSchema> =>
  parseOr(CompletedSchema, options, OPTIONS);

export const checkedWait = (options: WaitOptions): z.output<typeof WaitSchema> =>
  parseOr(WaitSchema, options, OPTIONS);

/** The wait was over before anything came of it: here is where it stands. */
export interface TimedOut {
  readonly kind: "timeout";
  readonly delivery: DeliveryRow;
}

export type AcceptedAnswer =
  | { readonly kind: "accepted"; readonly delivery: DeliveryRow }
  | Exclude<Ended, { kind: "completed" | "asked" }>
  | TimedOut;

export type CompletedAnswer = Ended | TimedOut;

/** Until somebody has accepted it, or never will. */
export async function awaitAccepted(
  workspace: Workspace,
  id: string,
  options: WaitOptions,
): Promise<AcceptedAnswer> {
  let last: DeliveryRow | undefined;
  for await (const { delivery } of changesOf(workspace, id, checkedWait(options))) {
    if (isTakenUp(delivery)) return { kind: "accepted", delivery };
    const ended = isOpen(delivery.state) ? undefined : await endedAs(workspace, delivery);
    if (ended !== undefined && ended.kind !== "completed" && ended.kind !== "asked") return ended;
    last = delivery;
  }
  return { kind: "timeout", delivery: last as DeliveryRow };
}

const isTakenUp = ({ acceptedAt }: DeliveryRow): boolean => acceptedAt > 0;

/** Until it is over, or the receiver asks back; with the result, or why there is none. */
export async function awaitCompleted(
  workspace: Workspace,
  id: string,
  options: CompletedOptions,
): Promise<CompletedAnswer> {
  const { line, timeoutMs, signal } = checkedCompleted(options);
  const until = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
  for (let next = id; ; ) {
    const left = Math.max(0, until - performance.now());
    const last = await ended(workspace, next, { signal, timeoutMs: left });
    if (!isEnded(last.state)) return { kind: "timeout", delivery: last };
    const end = line ? await endOfLine(workspace, last.id) : undefined;
    if (end === undefined || end.delivery.id === last.id) return endedAs(workspace, last);
    next = end.delivery.id; // It was handed on, and goes on as another.
  }
}

async function ended(workspace: Workspace, id: string, watched: WaitOptions): Promise<DeliveryRow> {
  let last: DeliveryRow | undefined;
  for await (const { delivery } of changesOf(workspace, id, watched)) {
    last = delivery;
    if (isEnded(delivery.state)) break;
  }
  return last as DeliveryRow;
}

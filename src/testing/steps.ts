/** Steps of scripted agents, for example `[notes("half of it"), dies(), completes("all of it")]`. */
import { isBatonError } from "../base/errors.ts";
import type { Result } from "../delivery/send/result.ts";
import type { Failure } from "../delivery/settle/settle.ts";
import type { Work } from "../hub/work.ts";
import type { MemoryInput } from "../memory/record.ts";
import type { AnswerStep, WorkStep } from "./scripted-agent.ts";

/** The draft of a handoff that continues the task. */
export type NextHandoff = Parameters<Work["handoff"]>[0];

/** Completes the work. A string is its summary. */
export const completes = (result: Result | string = {}): WorkStep => {
  const handed = typeof result === "string" ? { summary: result } : result;
  return (work) => retryWhenExtended(() => work.complete(handed));
};

/** Fails the attempt. A string is the message of a retryable failure. */
export const fails = (failure: Failure | string): WorkStep => {
  const details = typeof failure === "string" ? { message: failure } : failure;
  return (work) => retryWhenExtended(() => work.fail(details));
};

/** Declines the work permanently. */
export const declines =
  (reason: string): WorkStep =>
  (work) =>
    retryWhenExtended(() => work.decline(reason));

/** Asks the sender a question, which a script with `answers()` can answer. */
export const clarifies =
  (question: string): WorkStep =>
  (work) =>
    retryWhenExtended(() => work.clarify(question));

/** Hands the task on: with a draft, or a function that returns one for the work. */
export const handsOver =
  (draft: NextHandoff | ((work: Work) => NextHandoff)): WorkStep =>
  (work) =>
    retryWhenExtended(() => work.handoff(typeof draft === "function" ? draft(work) : draft));

/** Releases the work, which counts as an attempt. */
export const releases = (): WorkStep => (work) => work.release();

/** Writes a note about the work. */
export const notes =
  (note: MemoryInput | string): WorkStep =>
  (work) =>
    work.note(note);

/** Makes no calls for this many milliseconds; longer than its lease, and the work goes to the next agent. */
export const stalls =
  (ms: number): WorkStep =>
  (_, turn) =>
    turn.pass(ms);

/** Works for this many milliseconds and renews its lease meanwhile. */
export const worksFor =
  (ms: number): WorkStep =>
  async (work, turn) => {
    for (let left = ms; left > 0; ) {
      await work.renew();
      const round = Math.min(
        left,
        Math.max(1, Math.floor((work.delivery.leaseUntil - turn.now()) / 2)),
      );
      await turn.pass(round);
      left -= round;
    }
    await work.renew();
  };

/** Stops without settling the work, like a process that was killed. */
export const crashes = (): WorkStep => (_, turn) => turn.die();

/** Answers the next question about a handoff of this agent. */
export const answers = (text: string): AnswerStep => ({ answers: text });

/** Settles again if the sender extended the work. */
async function retryWhenExtended(settle: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await settle();
      return;
    } catch (error) {
      if (!isBatonError(error) || error.code !== "work_extended") throw error;
    }
  }
}

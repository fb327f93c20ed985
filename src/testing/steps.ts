/** What scripted agents do, in words: `[notes("half of it"), dies(), completes("all of it")]`. */
import { isBatonError } from "../base/errors.ts";
import type { Result } from "../delivery/send/result.ts";
import type { Failure } from "../delivery/settle/settle.ts";
import type { Work } from "../hub/work.ts";
import type { MemoryInput } from "../memory/record.ts";
import type { AnswerStep, WorkStep } from "./scripted-agent.ts";

/** How a piece of work is handed on. */
export type NextHandoff = Parameters<Work["handoff"]>[0];

/** Completes the work; a text is its summary. */
export const completes = (result: Result | string = {}): WorkStep => {
  const handed = typeof result === "string" ? { summary: result } : result;
  return (work) => retryWhenExtended(() => work.complete(handed));
};

/** Fails at it; a text is what went wrong, and may pass. */
export const fails = (failure: Failure | string): WorkStep => {
  const told = typeof failure === "string" ? { message: failure } : failure;
  return (work) => retryWhenExtended(() => work.fail(told));
};

/** Refuses it for good. */
export const declines =
  (reason: string): WorkStep =>
  (work) =>
    retryWhenExtended(() => work.decline(reason));

/** Asks the sender, who may have a script that `answers()`. */
export const clarifies =
  (question: string): WorkStep =>
  (work) =>
    retryWhenExtended(() => work.clarify(question));

/** Hands the task on: a draft, or what makes one from the work. */
export const handsOver =
  (draft: NextHandoff | ((work: Work) => NextHandoff)): WorkStep =>
  (work) =>
    retryWhenExtended(() => work.handoff(typeof draft === "function" ? draft(work) : draft));

/** Gives it back, as a counted try. */
export const releases = (): WorkStep => (work) => work.release();

/** Writes something down about it. */
export const notes =
  (note: MemoryInput | string): WorkStep =>
  (work) =>
    work.note(note);

/** Is not heard of for so long; longer than its lease, and the next one has the work. */
export const stalls =
  (ms: number): WorkStep =>
  (_, turn) =>
    turn.pass(ms);

/** Works for so long, and is heard of: its lease is renewed on the way. */
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

/** Falls silent in the middle of it, as a process that was killed does. */
export const crashes = (): WorkStep => (_, turn) => turn.die();

/** Answers the next question about a handoff of this agent. */
export const answers = (text: string): AnswerStep => ({ answers: text });

/** Told of an addition by the sender, it settles again, having seen that too. */
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

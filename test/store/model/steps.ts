/**
 * All steps with their weights, and several writes in one turn. Steps that bypass the hub are in
 * past-the-hub.ts.
 */
import fc from "fast-check";
import {
  enable,
  openAgent,
  pin,
  plainMemory,
  register,
  remember,
  rememberMany,
  rememberOne,
  rememberSome,
} from "./agent-and-memory-steps.ts";
import {
  accept,
  answer,
  carryOut,
  clarify,
  decide,
  handOn,
  handoff,
  handoffAgain,
  handoffApart,
  lineUp,
  look,
  offer,
  pause,
  publish,
  resume,
  start,
  work,
} from "./handoff-steps.ts";
import { claimMany, renewSession, settleWith, useLease } from "./lease-steps.ts";
import { move } from "./move-step.ts";
import { lookPast, PAST_THE_HUB, putEntry } from "./past-the-hub.ts";
import { send, sendMany } from "./send-step.ts";
import { outcomeOf } from "./side.ts";
import { alone, type Step } from "./step.ts";
import {
  advance,
  ask,
  fallSilent,
  recent,
  relations,
  reopen,
  search,
  withoutLeases,
} from "./time-and-query-steps.ts";

/** Writes of one turn: in SQLite they share a transaction, which must not be noticeable. */
const turn = fc
  .array(fc.oneof(rememberOne(plainMemory), rememberSome(plainMemory), ...PAST_THE_HUB), {
    minLength: 2,
    maxLength: 6,
  })
  .map(
    (writes): Step => ({
      title: `in one turn: ${writes.map((each) => each.title).join("; ")}`,
      burst: true,
      past: true,
      parts: [
        async (side) => {
          const prepared: (() => Promise<unknown>)[] = [];
          for (const each of writes) prepared.push(await each.prepare(side));
          const answers = await side.inOneTurn(prepared.map((submit) => () => outcomeOf(submit())));
          return answers.map(withoutLeases);
        },
      ],
    }),
  );

/** Relative frequency of each step. */
const WEIGHTS: readonly (readonly [number, fc.Arbitrary<Step>])[] = [
  [2, register],
  [2, enable],
  [1, openAgent],
  [3, alone(remember)],
  [2, alone(rememberMany)],
  [1, pin],
  [4, handoff],
  [4, handoffAgain],
  [5, start],
  [3, offer],
  [3, lineUp],
  [1, resume],
  [3, accept],
  [2, look],
  [4, answer],
  [9, work],
  [4, handOn],
  [3, advance],
  [3, fallSilent],
  [1, reopen],
  [1, recent],
  [1, relations],
  [1, search],
  [2, ask],
  [3, handoffApart],
  [2, publish],
  [4, decide],
  [2, pause],
  [3, carryOut],
  [3, clarify],
  [3, alone(settleWith)],
  [2, alone(useLease)],
  [3, alone(claimMany)],
  [1, alone(renewSession)],
  [4, alone(send)],
  [2, alone(sendMany)],
  [6, alone(move)],
  [2, alone(putEntry)],
  [2, lookPast],
  [4, turn],
];

export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  ...WEIGHTS.map(([weight, arbitrary]) => ({ weight, arbitrary })),
);

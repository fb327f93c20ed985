/** A delivery for people: stored, seen, accepted and settled are different times. */

import { isHeld } from "../../base/delivery-states.ts";
import type { DeliveryDetails } from "../../delivery/watch/delivery-details.ts";
import type { Attempt } from "../../history/attempt.ts";
import type { Delivery } from "../../history/delivery.ts";
import { bold, dim, localTime, oneLine, printLine } from "../terminal.ts";
import { printField } from "./envelope.ts";

/** Later than any time a policy can name: until somebody decides. */
const FOREVER = Date.UTC(9999, 0);

/** `dlv_…  accepted  auth from planner to coder` */
export function printDelivery(row: Delivery): void {
  const { id, state, task, sender, receiver } = row;
  printLine(`${id}  ${bold(state)}  ${oneLine(task)} from ${sender} to ${receiver}`);
}

/** Every time it has, every try, and what came of it. */
export function printDeliveryDetails({ delivery, attempts, ...came }: DeliveryDetails): void {
  const { state, attempt, maxAttempts, holder, readyAt, sentAt } = delivery;
  printDelivery(delivery);
  printField("stored", [localTime(sentAt)]);
  printField("seen", timeOf(delivery.seenAt, sentAt));
  printField("accepted", timeOf(delivery.acceptedAt, sentAt));
  printField(endOf(delivery), timeOf(delivery.settledAt, sentAt));
  if (state === "scheduled") printField("not before", [untilOf(readyAt)]);
  if (delivery.leaseUntil !== undefined && isHeld(state)) {
    printField("held by", [`${holder}, until ${localTime(delivery.leaseUntil)} without a call`]);
  }
  printField("deadline", delivery.deadline === undefined ? [] : [localTime(delivery.deadline)]);
  if (!delivery.inTurn) printField("turn", ["after an earlier handoff of the same task"]);
  printField("attempt", [`${attempt} of ${maxAttempts}`]);
  printField("tries", attempts.map(attemptOf));
  printField("result", came.result ? [came.result.summary] : []);
  printField("outputs", Object.entries(came.result?.outputs ?? {}).map(outputOf));
  printField("handed on", came.result?.handedOn ? [came.result.handedOn] : []);
  printField("reason", came.reason ? [came.reason] : []);
  printField("question", came.question ? [came.question] : []);
}

const outputOf = ([name, value]: [string, unknown]): string =>
  `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`;

/** Work that waits for an answer has left its holder; all else with a time at its end is over. */
const endOf = ({ state }: Delivery): string => (state === "waiting" ? "asked" : state);

function timeOf(at: number | undefined, sentAt: number): string[] {
  if (at === undefined) return [];
  return [`${localTime(at)}${dim(`, ${secondsBetween(sentAt, at)} after it was stored`)}`];
}

export const secondsBetween = (from: number, to: number): string =>
  `${((to - from) / 1000).toFixed(1)} s`;

const untilOf = (at = FOREVER): string =>
  at >= FOREVER ? "other handoffs, or a decision" : localTime(at);

/** When it can be claimed, when that is not now: at a time, or after other tasks. */
export function notBefore({ state, readyAt }: Delivery, after: readonly string[] = []): string {
  if (state !== "scheduled") return "";
  const tasks = (readyAt ?? 0) >= FOREVER ? after : [];
  return tasks.length === 0 ? `, not before ${untilOf(readyAt)}` : `, after ${tasks.join(", ")}`;
}

export function attemptOf({ attempt, outcome, holder, endedAt, reason }: Attempt): string {
  const by = holder === undefined ? "" : ` by ${holder}`;
  const why = whyOf(reason);
  return `attempt ${attempt}${by} ${outcome} ${localTime(endedAt)}${why === "" ? "" : `: ${why}`}`;
}

/** What a try was ended with, in words where there are some. */
function whyOf(said: Attempt["reason"]): string {
  if (Object.keys(said).length === 0) return "";
  const words = [said["message"] ?? said["reason"] ?? said["question"], classOf(said)];
  const told = words.filter((word) => typeof word === "string" && word !== "");
  if (typeof said["acceptMs"] === "number") return `not within ${said["acceptMs"] / 1000} s`;
  return told.length === 0 ? JSON.stringify(said) : told.join(", ");
}

const classOf = (said: Readonly<Record<string, unknown>>): unknown =>
  said["class"] === "permanent" ? "permanent" : "";

/** Prints deliveries: one line, or all times (stored, seen, accepted, settled), attempts and the result. */

import { isHeld } from "../../base/delivery-states.ts";
import type { DeliveryDetails } from "../../delivery/watch/delivery-details.ts";
import type { Attempt } from "../../history/attempt.ts";
import type { Delivery } from "../../history/delivery.ts";
import { bold, dim, localTime, oneLine, printLine } from "../terminal.ts";
import { printField } from "./envelope.ts";

/** Later than any time a policy allows; means "until a decision or other handoffs". */
const FOREVER = Date.UTC(9999, 0);

/** Prints `dlv_…  accepted  auth from planner to coder`. */
export function printDelivery(row: Delivery): void {
  const { id, state, task, sender, receiver } = row;
  printLine(`${id}  ${bold(state)}  ${oneLine(task)} from ${sender} to ${receiver}`);
}

/** Prints the times, attempts and result of a delivery. */
export function printDeliveryDetails({ delivery, attempts, ...came }: DeliveryDetails): void {
  const { state, attempt, maxAttempts, holder, readyAt, sentAt } = delivery;
  printDelivery(delivery);
  printField("stored", [localTime(sentAt)]);
  printField("seen", timeOf(delivery.seenAt, sentAt));
  printField("accepted", timeOf(delivery.acceptedAt, sentAt));
  printField(endOf(delivery), timeOf(delivery.settledAt, sentAt));
  if (state === "scheduled") printField("not before", [untilOf(readyAt)]);
  if (delivery.leaseUntil !== undefined && isHeld(state)) {
    printField("held by", [`${holder}, lease until ${localTime(delivery.leaseUntil)}`]);
  }
  printField("deadline", delivery.deadline === undefined ? [] : [localTime(delivery.deadline)]);
  if (!delivery.inTurn) printField("waits", ["for an earlier handoff of the same task"]);
  printField("attempt", [`${attempt} of ${maxAttempts}`]);
  printField("attempts", attempts.map(attemptOf));
  printField("result", came.result ? [came.result.summary] : []);
  printField("outputs", Object.entries(came.result?.outputs ?? {}).map(outputOf));
  printField("handed on", came.result?.handedOn ? [came.result.handedOn] : []);
  printField("reason", came.reason ? [came.reason] : []);
  printField("question", came.question ? [came.question] : []);
}

const outputOf = ([name, value]: [string, unknown]): string =>
  `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`;

/** Returns the label of the settled time: work that waits for an answer is not over. */
const endOf = ({ state }: Delivery): string => (state === "waiting" ? "asked" : state);

function timeOf(at: number | undefined, sentAt: number): string[] {
  if (at === undefined) return [];
  return [`${localTime(at)}${dim(`, ${secondsBetween(sentAt, at)} after it was stored`)}`];
}

/** Formats the time between two timestamps: `1.5 s`. */
export const secondsBetween = (from: number, to: number): string =>
  `${((to - from) / 1000).toFixed(1)} s`;

const untilOf = (at = FOREVER): string =>
  at >= FOREVER ? "other handoffs, or a decision" : localTime(at);

/** Returns when a scheduled delivery can be claimed: a time, or after other tasks. Empty for other states. */
export function notBefore({ state, readyAt }: Delivery, after: readonly string[] = []): string {
  if (state !== "scheduled") return "";
  const tasks = (readyAt ?? 0) >= FOREVER ? after : [];
  return tasks.length === 0 ? `, not before ${untilOf(readyAt)}` : `, after ${tasks.join(", ")}`;
}

/** Formats one attempt: `attempt 1 by coder failed 2026-01-31 12:00:00: timeout`. */
export function attemptOf({ attempt, outcome, holder, endedAt, reason }: Attempt): string {
  const by = holder === undefined ? "" : ` by ${holder}`;
  const why = whyOf(reason);
  return `attempt ${attempt}${by} ${outcome} ${localTime(endedAt)}${why === "" ? "" : `: ${why}`}`;
}

/** Returns why an attempt ended, in words if there are any, else as JSON. */
function whyOf(said: Attempt["reason"]): string {
  if (Object.keys(said).length === 0) return "";
  const words = [said["message"] ?? said["reason"] ?? said["question"], classOf(said)];
  const texts = words.filter((word) => typeof word === "string" && word !== "");
  if (typeof said["acceptMs"] === "number")
    return `not accepted within ${said["acceptMs"] / 1000} s`;
  return texts.length === 0 ? JSON.stringify(said) : texts.join(", ");
}

const classOf = (said: Readonly<Record<string, unknown>>): unknown =>
  said["class"] === "permanent" ? "permanent" : "";

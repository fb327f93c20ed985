/**
 * A task that waits for others: it opens when all of them are done, with what they have come to; it fails
 * when one of them failed or was cancelled. Whoever closes the last of them sees to it; if that one dies in
 * between, it is looked at again after a while, and what it waits for is closed then if that is over.
 */

import { clip } from "../base/clip.ts";
import {
  awaitsTasks,
  lookLater,
  type OpeningResult,
  openWith,
  resultOf,
} from "../delivery/due/open.ts";
import type { KeptClosing } from "../memory/ledger.ts";
import { parseEnvelope } from "../store/parse-envelope.ts";
import type { Claimed, PutEntry } from "../store/store.ts";
import { RETRY, tryWrite } from "../workspace/retry.ts";
import { trunkOf, type Workspace } from "../workspace/workspace.ts";
import { failWaiting } from "./failures/report.ts";
import { finishedBelow } from "./tasks/finish.ts";
import { keptOf, lastEnd, readTask } from "./tasks/read.ts";

/** Of a result's summary; all of it stands in the record. */
const SUMMARY = 2_000;

export async function openWaiting(given: Workspace, due: Claimed): Promise<void> {
  const workspace = trunkOf(given);
  const { store, name } = workspace;
  let waiting: Claimed | undefined = due;
  await tryWrite(async () => {
    if (waiting === undefined || (await openOnce(workspace, waiting)) === "over") return undefined;
    waiting = await store.findDelivery(name, due.delivery.id);
    return RETRY;
  }); // It is in constant change: the look after a while will find it.
}

async function openOnce(workspace: Workspace, waiting: Claimed): Promise<"over" | "changed"> {
  const envelope = parseEnvelope(workspace, waiting.envelope);
  const { after = [], task } = envelope;
  if (!awaitsTasks(envelope) || waiting.delivery.state !== "scheduled") return "over";
  const found = await Promise.all(after.map((each) => dependencyOf(workspace, each)));
  const lost = found.find(({ closed }) => closed !== undefined && closed.as !== "done");
  if (lost?.closed !== undefined) {
    const { as, by, reason } = lost.closed;
    const message = `"${lost.task}", which "${task}" waits for, was closed as ${as} by ${by}: ${reason}`;
    await failWaiting(workspace, waiting, { type: "dependency", message });
    return "over";
  }
  const done = found.flatMap(({ closed, put, ...each }) =>
    closed === undefined || put === undefined ? [] : [{ ...each, closed, put }],
  );
  if (done.length < after.length) {
    await lookLater(workspace, waiting.delivery);
    return "over";
  }
  const ends = await Promise.all(done.map((each) => endOf(workspace, each)));
  const outcome = await openWith(workspace, waiting, {
    lines: ends.flatMap(({ line }) => line ?? []),
    results: ends.flatMap(({ result }) => result ?? []),
    inherits: [],
    said: `"${task}" begins: ${after.map((each) => `"${each}"`).join(", ")} ${after.length === 1 ? "is" : "are"} done.`,
    // Whoever reopens one of them at this moment comes before this or after it.
    entries: done.map(({ put }) => put),
  });
  if (outcome === "changed") return "changed";
  if (outcome === "unsealable") {
    const message = `"${task}" has no room for the results of what it waited for.`;
    await failWaiting(workspace, waiting, { type: "unsealable", message });
  }
  return "over";
}

interface Dependency {
  readonly task: string;
  readonly closed: KeptClosing | undefined;
  readonly put: PutEntry | undefined;
}

async function dependencyOf(workspace: Workspace, task: string): Promise<Dependency> {
  let now = await keptOf(workspace, task);
  if (now !== undefined && now.kept.closed === undefined) {
    const found = await readTask(workspace, task);
    if (found !== undefined) await finishedBelow(workspace, found);
    now = await keptOf(workspace, task);
  }
  return { task, closed: now?.kept.closed, put: now?.put };
}

/** What a task came to: the result of its last completed work, else what its closing says. */
async function endOf(
  workspace: Workspace,
  { task, closed }: Dependency & { readonly closed: KeptClosing },
): Promise<{ readonly line?: Claimed; readonly result?: OpeningResult }> {
  const found = await readTask(workspace, task);
  const completed = found?.parts.filter(({ delivery }) => delivery.state === "completed") ?? [];
  const last = lastEnd(completed) ?? found?.parts.at(-1)?.delivery;
  const line = found?.parts.find(({ delivery }) => delivery.id === last?.id);
  if (line === undefined || last === undefined) return {};
  if (last.state === "completed") return { line, result: await resultOf(workspace, line) };
  const { by: agent, record: memory, reason } = closed;
  const summary = clip(reason, SUMMARY);
  return { line, result: { agent, delivery: last.id, memory, summary, task } };
}

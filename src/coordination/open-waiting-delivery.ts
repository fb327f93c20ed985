/**
 * Opens the delivery of a task that waits for others: when all of them are done, with their results. It fails
 * if one of them failed or was cancelled. The process that closes the last of them does this. If it dies in
 * between, the delivery is checked again later, and dependencies that have ended are closed then.
 */

import { clip } from "../base/clip.ts";
import {
  type AwaitedResult,
  awaitsTasks,
  openDelivery,
  resultOf,
  scheduleRecheck,
} from "../delivery/due/open-delivery.ts";
import type { StoredClosing } from "../memory/stored-ledger.ts";
import { parseEnvelope } from "../store/parse-envelope.ts";
import type { DeliveryWithEnvelopeRow, PutEntry } from "../store/store.ts";
import { RETRY, tryWrite } from "../workspace/retry.ts";
import { onMainBranch, type Workspace } from "../workspace/workspace.ts";
import { failWaitingDelivery } from "./failures/report.ts";
import { finishTaskTree } from "./tasks/finish-task.ts";
import { findTaskLedger, lastSettledDelivery, readTask } from "./tasks/read.ts";

/** The longest summary of a result, in characters; the record has all of it. */
const SUMMARY = 2_000;

/** Opens, fails or reschedules a delivery that waits for tasks. Does nothing if it no longer waits. */
export async function openWaitingDelivery(
  given: Workspace,
  due: DeliveryWithEnvelopeRow,
): Promise<void> {
  const workspace = onMainBranch(given);
  const { store, name } = workspace;
  let waiting: DeliveryWithEnvelopeRow | undefined = due;
  await tryWrite(async () => {
    if (waiting === undefined || (await openOnce(workspace, waiting)) === "over") return undefined;
    waiting = await store.findDelivery(name, due.delivery.id);
    return RETRY;
  }); // It keeps changing; the later check finds it.
}

async function openOnce(
  workspace: Workspace,
  waiting: DeliveryWithEnvelopeRow,
): Promise<"over" | "changed"> {
  const envelope = parseEnvelope(workspace, waiting.envelope);
  const { after = [], task } = envelope;
  if (!awaitsTasks(envelope) || waiting.delivery.state !== "scheduled") return "over";
  const found = await Promise.all(after.map((each) => dependencyOf(workspace, each)));
  const lost = found.find(({ closed }) => closed !== undefined && closed.as !== "done");
  if (lost?.closed !== undefined) {
    const { as, by, reason } = lost.closed;
    const message = `Task "${task}" waits for "${lost.task}", which ${by} closed as ${as}: ${reason}`;
    await failWaitingDelivery(workspace, waiting, { type: "dependency", message });
    return "over";
  }
  const done = found.flatMap(({ closed, put, ...each }) =>
    closed === undefined || put === undefined ? [] : [{ ...each, closed, put }],
  );
  if (done.length < after.length) {
    await scheduleRecheck(workspace, waiting.delivery);
    return "over";
  }
  const ends = await Promise.all(done.map((each) => dependencyResultOf(workspace, each)));
  const outcome = await openDelivery(workspace, waiting, {
    lines: ends.flatMap(({ line }) => line ?? []),
    results: ends.flatMap(({ result }) => result ?? []),
    inherits: [],
    content: `Task "${task}" starts: ${after.map((each) => `"${each}"`).join(", ")} ${after.length === 1 ? "is" : "are"} done.`,
    // Orders a concurrent reopening of one of them before or after this.
    entries: done.map(({ put }) => put),
  });
  if (outcome === "changed") return "changed";
  if (outcome === "unsealable") {
    const message = `The results of the tasks that "${task}" waited for do not fit into its envelope.`;
    await failWaitingDelivery(workspace, waiting, { type: "unsealable", message });
  }
  return "over";
}

interface Dependency {
  readonly task: string;
  readonly closed: StoredClosing | undefined;
  readonly put: PutEntry | undefined;
}

async function dependencyOf(workspace: Workspace, task: string): Promise<Dependency> {
  let now = await findTaskLedger(workspace, task);
  if (now !== undefined && now.kept.closed === undefined) {
    const found = await readTask(workspace, task);
    if (found !== undefined) await finishTaskTree(workspace, found);
    now = await findTaskLedger(workspace, task);
  }
  return { task, closed: now?.kept.closed, put: now?.put };
}

/**
 * Returns what a task produced: the result of its last completed work, otherwise the reason of its closing.
 */
async function dependencyResultOf(
  workspace: Workspace,
  { task, closed }: Dependency & { readonly closed: StoredClosing },
): Promise<{ readonly line?: DeliveryWithEnvelopeRow; readonly result?: AwaitedResult }> {
  const found = await readTask(workspace, task);
  const completed = found?.parts.filter(({ delivery }) => delivery.state === "completed") ?? [];
  const last = lastSettledDelivery(completed) ?? found?.parts.at(-1)?.delivery;
  const line = found?.parts.find(({ delivery }) => delivery.id === last?.id);
  if (line === undefined || last === undefined) return {};
  if (last.state === "completed") return { line, result: await resultOf(workspace, line) };
  const { by: agent, record: memory, reason } = closed;
  const summary = clip(reason, SUMMARY);
  return { line, result: { agent, delivery: last.id, memory, summary, task } };
}

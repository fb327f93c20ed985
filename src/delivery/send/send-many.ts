/**
 * Sends several handoffs in one operation: all of them, or none. Each is planned and checked like a single one;
 * together they are prepared in their order, so that handoffs of the same task build on each other's ledger.
 * They are not compared with each other: what one call sends to several agents is intended.
 */
import { BatonError, withinPath } from "../../base/errors.ts";
import { checkLimit } from "../../base/limits.ts";
import type { DraftOf } from "../../envelope/schema.ts";
import { KEY } from "../../history/key-entry.ts";
import { runWithoutSecrets, withSecrets } from "../../memory/redaction/secret-policy.ts";
import { LEDGER } from "../../memory/stored-ledger.ts";
import { type EntryRow, entryDigest } from "../../store/rows.ts";
import type { PutEntry, RefusedHandoff, SendHandoff, SendRefusal } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { SentHandoff } from "./idempotency-key.ts";
import { withInboxCapacity } from "./inbox-capacity.ts";
import { type AdmittedHandoff, PendingHandoff } from "./pending-handoff.ts";
import type { Sender } from "./plan.ts";
import type { PreparedHandoff } from "./prepare.ts";
import { admit } from "./send.ts";

/** A handoff with its index among the drafts. */
interface Indexed<Handoff> {
  readonly index: number;
  readonly handoff: Handoff;
}

/**
 * Sends several handoffs in one operation, or none of them. Returns them in the order of the drafts. Throws
 * what sending one of them throws, with the path of its draft, such as `drafts[2].to`.
 */
export async function sendHandoffs<T>(
  workspace: Workspace,
  sender: Sender,
  drafts: readonly DraftOf<T>[],
): Promise<SentHandoff<T>[]> {
  checkList(workspace, drafts);
  const found = await allInOrder(
    drafts.map((draft, index) => atIndex(index, () => admitRedacted(workspace, sender, draft))),
  );
  const admitted = found.flatMap(({ handoff }, index) =>
    "kind" in handoff ? [] : [{ index, handoff }],
  );
  refuseSharedKeys(admitted);
  refuseSharedReceivers(admitted.map(({ index, handoff: { plan } }) => ({ index, ...plan })));
  const deliveries = admitted.reduce((sum, { handoff }) => sum + handoff.plan.inboxes.length, 0);
  checkLimit(workspace.limits, "receivers", { actual: deliveries, path: "drafts" });
  const sent = await withCapacityForAll(workspace, admitted, () =>
    sendTogether<T>(workspace, sender, admitted),
  );
  return found.map(({ handoff, secrets }, index) =>
    withSecrets("kind" in handoff ? handoff : (sent.get(index) as SentHandoff<T>), secrets),
  );
}

function checkList({ limits }: Workspace, drafts: readonly unknown[]): void {
  if (!Array.isArray(drafts) || drafts.length === 0) {
    throw new BatonError("invalid_input", {
      message: "drafts: expected a list of at least one handoff.",
      path: "drafts",
      hint: "Pass a list such as [{ to, intent }, { to, intent }].",
    });
  }
  checkLimit(limits, "handoffBatch", { actual: drafts.length, path: "drafts" });
}

const admitRedacted = <T>(workspace: Workspace, sender: Sender, draft: DraftOf<T>) =>
  runWithoutSecrets(workspace, draft, async (redacted, secrets) => ({
    handoff: await admit<T>(workspace, sender, redacted, { redacted: secrets }),
    secrets,
  }));

/** Waits for all; if several fail, the first of the list is reported. */
async function allInOrder<Result>(steps: readonly Promise<Result>[]): Promise<Result[]> {
  const ended = await Promise.allSettled(steps);
  const failed = ended.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return Promise.all(steps);
}

/** Runs a step of one of the handoffs; its errors name the draft. */
const atIndex = <Result>(index: number, step: () => Promise<Result>): Promise<Result> =>
  withinPath(`drafts[${index}]`, step);

/** A key names one handoff; with a key of its own, each can be sent again. */
function refuseSharedKeys(admitted: readonly Indexed<AdmittedHandoff>[]): void {
  const seen = new Map<string, number>();
  for (const { index, handoff } of admitted) {
    const { key } = handoff.plan.draft;
    if (key === undefined) continue;
    const first = seen.get(key);
    if (first !== undefined) {
      throw new BatonError("invalid_input", {
        message: `drafts[${index}].key: "${key}" is also the key of drafts[${first}].`,
        path: `drafts[${index}].key`,
        hint: "Give each handoff a key of its own.",
      });
    }
    seen.set(key, index);
  }
}

/**
 * Runs `send` if every inbox has capacity. In the order of the inboxes' names: two batches that wait for each
 * other's inboxes would never end.
 */
function withCapacityForAll<Result>(
  workspace: Workspace,
  admitted: readonly Indexed<AdmittedHandoff>[],
  send: () => Promise<Result>,
): Promise<Result> {
  const sending = new Map<string, { handoffs: number; path: string }>();
  for (const { index, handoff } of admitted) {
    const { to, inboxes } = handoff.plan;
    for (const inbox of to.kind === "channel" ? [] : inboxes.slice(0, 1)) {
      const { handoffs, path } = sending.get(inbox) ?? { handoffs: 0, path: `drafts[${index}].to` };
      sending.set(inbox, { handoffs: handoffs + 1, path });
    }
  }
  return [...sending]
    .sort(([one], [other]) => (one < other ? 1 : -1))
    .reduce(
      (next, [inbox, how]) =>
        () =>
          withInboxCapacity(workspace, inbox, next, how),
      send,
    )();
}

/** Sends admitted handoffs in one operation; retries until the store accepts all of them. Returns them by index. */
async function sendTogether<T>(
  workspace: Workspace,
  sender: Sender,
  admitted: readonly Indexed<AdmittedHandoff>[],
): Promise<ReadonlyMap<number, SentHandoff<T>>> {
  const done = new Map<number, SentHandoff<T>>();
  let pending: Indexed<PendingHandoff<T>>[] = [];
  // In order: a long intent that several have in common is stored once.
  for (const { index, handoff } of admitted) {
    const begun = await atIndex(index, () => PendingHandoff.begin<T>(workspace, sender, handoff));
    pending.push({ index, handoff: begun });
  }
  while (pending.length > 0) {
    const prepared = await prepareInOrder(pending);
    refuseSharedReceivers(prepared.map(receiversOf));
    const operations = withMergedEntries(prepared.map(({ handoff }) => handoff.operation));
    const outcome = await workspace.store.sendHandoffs(operations);
    if (outcome.kind === "sent") {
      for (const [i, { index, handoff }] of pending.entries()) {
        const { handoff: sealed } = prepared[i] as Indexed<PreparedHandoff>;
        done.set(index, handoff.sent(sealed, outcome.sent[i] as (typeof outcome.sent)[number]));
      }
      return done;
    }
    const breakers = new Map();
    for (const [{ index, handoff }, refusal] of affectedBy(outcome.refused, pending)) {
      const answer = await atIndex(index, () => handoff.adapt(refusal, breakers));
      if (answer === undefined) continue;
      if (answer.kind !== "sent") throw new Error("a handoff outside a lease cannot lose one");
      done.set(index, answer);
    }
    pending = pending.filter(({ index }) => !done.has(index));
  }
  return done;
}

/**
 * Returns the handoffs to adapt, each with its refusal: those that were refused, and those with the same ledger
 * or the same work as one whose entry has changed.
 */
function affectedBy<T>(
  refused: readonly RefusedHandoff[],
  pending: readonly Indexed<PendingHandoff<T>>[],
): ReadonlyMap<Indexed<PendingHandoff<T>>, SendRefusal> {
  const affected = new Map(
    refused.map(({ index, refusal }) => [pending[index] as Indexed<PendingHandoff<T>>, refusal]),
  );
  for (const [{ handoff: first }, refusal] of [...affected]) {
    if (refusal.kind !== "entry_changed" || refusal.entry?.kind === KEY) continue;
    const shares = ({ handoff: { task, work } }: Indexed<PendingHandoff<T>>): boolean =>
      task === first.task || (work !== undefined && work === first.work);
    for (const each of pending.filter(shares)) {
      if (!affected.has(each)) affected.set(each, refusal);
    }
  }
  return affected;
}

/** Prepares the handoffs one after the other: each with the ledger as those before it will leave it. */
async function prepareInOrder<T>(
  pending: readonly Indexed<PendingHandoff<T>>[],
): Promise<readonly Indexed<PreparedHandoff>[]> {
  const ledgers = new Map<string, EntryRow>();
  const prepared: Indexed<PreparedHandoff>[] = [];
  for (const { index, handoff } of pending) {
    const next = await atIndex(index, () => handoff.prepare(ledgers));
    for (const entry of next.operation.entries ?? []) {
      if (entry.kind === LEDGER) ledgers.set(entry.name, rowOf(entry));
    }
    prepared.push({ index, handoff: next });
  }
  return prepared;
}

/** Returns an entry as it will be read after it was written. */
function rowOf({ kind, name, value = "", basedOn }: PutEntry): EntryRow {
  const row = { kind, name, value, revision: basedOn + 1 };
  return { ...row, at: 0, digest: entryDigest(row) };
}

/** The receivers of a handoff, and its task. */
interface Addressed {
  readonly index: number;
  readonly task: string;
  readonly inboxes: readonly string[];
}

/** Returns where a handoff goes after all: a breaker or a disabled agent may have led to a fallback. */
function receiversOf({ index, handoff }: Indexed<PreparedHandoff>): Addressed {
  const { deliveries, envelope } = handoff.operation;
  return { index, task: envelope.task, inboxes: deliveries.map(({ receiver }) => receiver) };
}

/** A second handoff to the same receiver about the same task would extend or follow the first. */
function refuseSharedReceivers(handoffs: readonly Addressed[]): void {
  const seen = new Map<string, number>();
  for (const { index, task, inboxes } of handoffs) {
    for (const receiver of inboxes) {
      const first = seen.get(`${receiver} ${task}`);
      if (first !== undefined) throw sharedReceiver(index, first, { receiver, task });
      seen.set(`${receiver} ${task}`, index);
    }
  }
}

function sharedReceiver(
  index: number,
  first: number,
  { receiver, task }: { readonly receiver: string; readonly task: string },
): BatonError {
  return new BatonError("invalid_input", {
    message: `drafts[${index}] would go to "${receiver}" and is about "${task}", like drafts[${first}].`,
    path: `drafts[${index}]`,
    hint: "Combine them into one handoff, give them separate tasks, or send the second one afterwards.",
    details: { receiver, task },
  });
}

/**
 * Returns the operations with each entry at most once. Of a ledger the last version is written, which contains
 * the earlier ones; of the same work the first handoff is recorded.
 */
function withMergedEntries(operations: readonly SendHandoff[]): readonly SendHandoff[] {
  const nameOf = ({ kind, name }: PutEntry): string => `${kind} ${name}`;
  const firsts = new Map<string, PutEntry>();
  const lasts = new Map<string, PutEntry>();
  for (const entry of operations.flatMap(({ entries = [] }) => entries)) {
    const name = nameOf(entry);
    if (!firsts.has(name)) firsts.set(name, entry);
    lasts.set(name, entry);
  }
  return operations.map(({ entries = [], ...operation }) => {
    const kept = entries.flatMap((entry) => {
      const name = nameOf(entry);
      const first = firsts.get(name) ?? entry;
      if (entry.kind !== LEDGER) return entry === first ? [entry] : [];
      return entry === lasts.get(name) ? [{ ...entry, basedOn: first.basedOn }] : [];
    });
    return kept.length === 0 ? operation : { ...operation, entries: kept };
  });
}

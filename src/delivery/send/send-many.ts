/**
 * Sends several handoffs in one operation: all of them, or none. Each is planned and checked like a single one;
 * together they are prepared in their order, so that handoffs of the same task build on each other's ledger.
 */
import { BatonError, withinPath } from "../../base/errors.ts";
import { checkLimit } from "../../base/limits.ts";
import type { DraftOf } from "../../envelope/schema.ts";
import { KEY } from "../../history/key-entry.ts";
import { runWithoutSecrets, withSecrets } from "../../memory/redaction/secret-policy.ts";
import { LEDGER } from "../../memory/stored-ledger.ts";
import { type EntryRow, entryDigest } from "../../store/rows.ts";
import type { PutEntry, SendHandoff, SendRefusal } from "../../store/store.ts";
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
  const plans = admitted.map(({ handoff: { plan } }) => plan);
  const bounded = plans.filter(({ to }) => to.kind !== "channel");
  const counts = new Map<string, number>();
  for (const { inboxes } of bounded) {
    for (const inbox of inboxes.slice(0, 1)) counts.set(inbox, (counts.get(inbox) ?? 0) + 1);
  }
  return [...counts]
    .sort(([one], [other]) => (one < other ? 1 : -1))
    .reduce(
      (next, [inbox, count]) =>
        () =>
          withInboxCapacity(workspace, inbox, next, count),
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
  let pending = await allInOrder(
    admitted.map(({ index, handoff }) =>
      atIndex(index, async () => ({
        index,
        handoff: await PendingHandoff.begin<T>(workspace, sender, handoff),
      })),
    ),
  );
  while (pending.length > 0) {
    const prepared = await prepareInOrder(pending);
    refuseSharedReceivers(prepared);
    const operations = withMergedEntries(prepared.map(({ handoff }) => handoff.operation));
    const outcome = await workspace.store.sendHandoffs(operations);
    if (outcome.kind === "sent") {
      for (const [i, { index, handoff }] of pending.entries()) {
        const { handoff: sealed } = prepared[i] as Indexed<PreparedHandoff>;
        done.set(index, handoff.sent(sealed, outcome.sent[i] as (typeof outcome.sent)[number]));
      }
      return done;
    }
    for (const { index, handoff } of affectedBy(outcome, pending)) {
      const answer = await atIndex(index, () => handoff.adapt(outcome.refusal));
      if (answer === undefined) continue;
      if (answer.kind !== "sent") throw new Error("a handoff outside a lease cannot lose one");
      done.set(index, answer);
    }
    pending = pending.filter(({ index }) => !done.has(index));
  }
  return done;
}

/** Returns the handoffs to adapt: the refused one or, if an entry of its task has changed, all of the task. */
function affectedBy<T>(
  { index, refusal }: { readonly index: number; readonly refusal: SendRefusal },
  pending: readonly Indexed<PendingHandoff<T>>[],
): readonly Indexed<PendingHandoff<T>>[] {
  const refused = pending[index];
  if (refused === undefined)
    throw new Error(`the store refused handoff ${index}, which was not sent`);
  if (refusal.kind !== "entry_changed" || refusal.entry?.kind === KEY) return [refused];
  return pending.filter(({ handoff }) => handoff.task === refused.handoff.task);
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

/** A second handoff to the same receiver about the same task would extend or follow the first. */
function refuseSharedReceivers(prepared: readonly Indexed<PreparedHandoff>[]): void {
  const seen = new Map<string, number>();
  for (const { index, handoff } of prepared) {
    const { deliveries, envelope } = handoff.operation;
    for (const { receiver } of deliveries) {
      const first = seen.get(`${receiver} ${envelope.task}`);
      if (first !== undefined)
        throw sharedReceiver(index, first, { receiver, task: envelope.task });
      seen.set(`${receiver} ${envelope.task}`, index);
    }
  }
}

function sharedReceiver(
  index: number,
  first: number,
  { receiver, task }: { readonly receiver: string; readonly task: string },
): BatonError {
  return new BatonError("invalid_input", {
    message: `drafts[${index}] is for "${receiver}" and about "${task}", like drafts[${first}].`,
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

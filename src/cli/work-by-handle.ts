/**
 * Work in the hands of somebody who comes back now and then: accepted in one process, settled in
 * another, by its handle. The lease is a session's, and longer than a program's: between two commands
 * somebody thinks.
 */

import type { Delivery } from "../history/delivery.ts";
import type { Hub } from "../hub/hub.ts";
import type { SettleResult, Work } from "../hub/work.ts";
import type { WorkMerge } from "../memory/branches/work-branch.ts";
import { type ArgumentSpec, JSON_OPTION, type OptionSpecs, STORE_OPTIONS } from "./command.ts";
import { OK } from "./exit.ts";
import { printDelivery } from "./render/delivery.ts";
import { printRedactedSecrets } from "./render/redacted-secrets.ts";
import { openStore, type StoreChoice } from "./store.ts";
import { dim, plural, printJson, printLine } from "./terminal.ts";

const LEASE_MS = 15 * 60_000;

export const LEASE_OPTION = {
  lease: {
    type: "duration",
    value: "<time>",
    help: "how long it stays yours without a call; else 15m",
  },
} as const satisfies OptionSpecs;

export const SEEN_OPTION = {
  seen: {
    type: "text",
    value: "<envelope>",
    help: "the sender's addition you have looked at (env_…)",
  },
} as const satisfies OptionSpecs;

/** Options of every command that goes on by a handle. */
export const WORK_OPTIONS = {
  as: { type: "text", value: "<agent>", help: "who does it; else who has the work" },
  ...LEASE_OPTION,
  ...STORE_OPTIONS,
  ...JSON_OPTION,
} as const satisfies OptionSpecs;

export const HANDLE: ArgumentSpec = { name: "handle", help: "what baton accept gave (dlv_…#n)" };

export interface WorkChoice extends StoreChoice {
  readonly as?: string | undefined;
  readonly lease?: number | undefined;
}

/** Opens the store for somebody who holds work, or is about to. */
export function openForWork({ lease = LEASE_MS, ...choice }: WorkChoice): Promise<Hub> {
  return openStore(choice, { create: false, sessionMs: lease });
}

/** The agent that acts by a handle. */
export async function holderAt(hub: Hub, handle: string, as: string | undefined) {
  return hub.agent(as ?? (await hub.deliveries.holder(handle)), undefined, { lease: "session" });
}

/** The work, unless its sender has added something to it that was not looked at. */
export async function workAt(
  hub: Hub,
  handle: string,
  { as, seen }: { readonly as?: string | undefined; readonly seen?: string | undefined },
): Promise<Work> {
  const agent = await holderAt(hub, handle, as);
  const work = await agent.resume(handle);
  const { requireSeen } = await import("../delivery/work/unseen-envelope.ts");
  const { delivery, envelope, sentAt } = await hub.deliveries.get(work.id);
  requireSeen({ delivery, envelope: { id: envelope.id, storedAt: sentAt } }, seen);
  return work;
}

/** The work is completed either way: what stands in the way of its branch is for somebody to look at. */
function mergeLine(merge: WorkMerge): string {
  const { branch } = merge;
  switch (merge.kind) {
    case "merged":
      return `${branch} is part of ${merge.into}`;
    case "conflicts": {
      const conflicts = plural(merge.conflicts.length + merge.hidden, "conflict");
      return `${branch} is not merged: ${conflicts}. See baton branch diff ${branch}`;
    }
    case "refused":
      return `${branch} is not merged: ${merge.error.message}`;
  }
}

async function isReported(hub: Hub, { id, task }: Delivery): Promise<boolean> {
  const failures = (await hub.failures.list({ task })).items;
  return failures.some(({ delivery }) => delivery === id);
}

interface SettleOptions extends WorkChoice {
  readonly seen?: string | undefined;
  readonly json?: boolean | undefined;
}

/** A whole command: goes on by the handle, settles, and shows what came of it. */
export async function settleAt(
  handle: string,
  { json, seen, ...choice }: SettleOptions,
  settle: (work: Work) => Promise<SettleResult>,
): Promise<number> {
  await using hub = await openForWork(choice);
  const work = await workAt(hub, handle, { as: choice.as, seen });
  const { delivery: row, merge, secrets } = await settle(work);
  if (json) printJson(merge === undefined ? row : { ...row, merge });
  else {
    printDelivery(row);
    printRedactedSecrets(secrets);
    if (merge !== undefined) printLine(mergeLine(merge));
    if (row.state === "dead" && (await isReported(hub, row))) {
      printLine(dim(`  whoever decides was told: baton failure show ${row.id}`));
    }
  }
  return OK;
}

/**
 * Continues and settles work by its handle, because each command is a separate process: one accepts,
 * another settles. The lease belongs to the session and is longer than a program's (15 minutes), to cover
 * the time between two commands.
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

/** Option for how long the lease lasts without a command. */
export const LEASE_OPTION = {
  lease: {
    type: "duration",
    value: "<time>",
    help: "lease duration, renewed by every command (default: 15m)",
  },
} as const satisfies OptionSpecs;

/** Option that confirms an addition of the sender. */
export const SEEN_OPTION = {
  seen: {
    type: "text",
    value: "<envelope>",
    help: "id of the sender's addition that you have read (env_…)",
  },
} as const satisfies OptionSpecs;

/** Options of every command that continues work by its handle. */
export const WORK_OPTIONS = {
  as: { type: "text", value: "<agent>", help: "agent that acts (default: the holder of the work)" },
  ...LEASE_OPTION,
  ...STORE_OPTIONS,
  ...JSON_OPTION,
} as const satisfies OptionSpecs;

/** The handle argument of commands about accepted work. */
export const HANDLE: ArgumentSpec = {
  name: "handle",
  help: "handle printed by baton accept (dlv_…#n)",
};

/** Options for opening the store as the holder of work; `lease` in milliseconds. */
export interface WorkChoice extends StoreChoice {
  readonly as?: string | undefined;
  readonly lease?: number | undefined;
}

/** Opens an existing store with the session lease, for commands that hold or accept work. */
export function openForWork({ lease = LEASE_MS, ...choice }: WorkChoice): Promise<Hub> {
  return openStore(choice, { create: false, sessionMs: lease });
}

/** Returns the agent that acts on a handle: `as`, else its holder. */
export async function holderAt(hub: Hub, handle: string, as: string | undefined) {
  return hub.agent(as ?? (await hub.deliveries.holder(handle)), undefined, { lease: "session" });
}

/** Returns the work; throws `work_extended` if its sender added something that --seen does not confirm. */
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

/** Describes the merge of the work's branch. The work is completed even if the branch was not merged. */
function mergeLine(merge: WorkMerge): string {
  const { branch } = merge;
  switch (merge.kind) {
    case "merged":
      return `Merged ${branch} into ${merge.into}`;
    case "conflicts": {
      const conflicts = plural(merge.conflicts.length + merge.hidden, "conflict");
      return `${branch} was not merged: ${conflicts}. See baton branch diff ${branch}`;
    }
    case "refused":
      return `${branch} was not merged: ${merge.error.message}`;
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

/** Runs a settling command: resumes the work by its handle, settles it and prints the result. */
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
      printLine(dim(`  the coordinator was notified: baton failure show ${row.id}`));
    }
  }
  return OK;
}

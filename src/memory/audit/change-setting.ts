/**
 * Changes tokens and settings together with their audit record: the record and the entry are one write, so that
 * neither exists without the other.
 */

import { type AuditedKind, type AuditTarget, auditedValueDigest } from "../../store/audited.ts";
import type { EntryRow } from "../../store/rows.ts";
import { currentActor } from "../../workspace/actor.ts";
import { entryValue, toEntryText } from "../../workspace/entries.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { systemAuthor } from "../system-author.ts";
import { auditBranchOf, auditRecord } from "./audit-record.ts";

/** A new value for an entry. */
export interface SettingChange<T> {
  /** Undefined deletes the entry. */
  readonly value: T | undefined;
  /** The agent that changes it, where the interface knows no actor. */
  readonly by?: string | undefined;
}

type ActionNames = readonly [created: string, changed: string, deleted: string];

const alike = (name: string): ActionNames => [name, name, name];

/** The operation that changes each kind. */
const ACTIONS: Readonly<Record<AuditedKind, ActionNames>> = {
  token: ["tokens.add", "tokens.revoke", "tokens.forget"],
  setting: alike("settings.update"),
  profile: alike("settings.update"),
  lint: alike("settings.update"),
  retention: alike("settings.update"),
  "allowed-text": alike("memories.allowText"),
  route: ["routes.set", "routes.set", "routes.delete"],
  "failure-rule": ["failures.setRule", "failures.setRule", "failures.deleteRule"],
  channel: alike("channels.set"),
};

/**
 * Changes an entry based on its current value, and records it. `change` returns undefined to leave it as it is;
 * the same value again is not a change. Returns the value after the change, undefined if there is no entry.
 * Throws `store_busy` if other processes changed it at every attempt.
 */
export async function changeSetting<T>(
  workspace: Workspace,
  target: AuditTarget & { readonly kind: AuditedKind },
  change: (now: T | undefined) => SettingChange<T> | undefined,
): Promise<T | undefined> {
  const { store, name: within } = workspace;
  const { kind, name } = target;
  let current = await store.findEntry(within, kind, name);
  return retryWrite({ what: `The ${kind} of "${name}" was changed` }, async () => {
    const now = entryValue<T>(current);
    const changed = change(now);
    if (changed === undefined) return now;
    const value = changed.value === undefined ? undefined : toEntryText(changed.value);
    if (value === current?.value) return changed.value;
    const outcome = await store.appendMemories({
      ...auditBranchOf(workspace),
      memories: [await recordOf(workspace, { target, by: changed.by, current, value })],
      entries: [{ kind, name, value, basedOn: current?.revision ?? 0 }],
    });
    if (outcome.kind === "appended") return changed.value;
    if (outcome.kind !== "entry_changed") {
      throw new Error(`unexpected outcome of recording a change: ${outcome.kind}`);
    }
    current = outcome.entry;
    return RETRY;
  });
}

interface ValueChange {
  readonly target: AuditTarget & { readonly kind: AuditedKind };
  readonly by: string | undefined;
  readonly current: EntryRow | undefined;
  readonly value: string | undefined;
}

async function recordOf(workspace: Workspace, { target, by, current, value }: ValueChange) {
  const [created, changed, deleted] = ACTIONS[target.kind];
  const actor = currentActor();
  return auditRecord(workspace, await systemAuthor(workspace), {
    kind: "change",
    action: value === undefined ? deleted : current === undefined ? created : changed,
    actor: { ...actor, agent: by ?? actor.agent },
    target: { kind: target.kind, name: target.name },
    ...(current === undefined ? {} : { before: auditedValueDigest(current.value) }),
    ...(value === undefined ? {} : { after: auditedValueDigest(value) }),
  });
}

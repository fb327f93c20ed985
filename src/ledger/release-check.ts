/**
 * Checks whether an agent may release items from a task's ledger. The item must be on the ledger, and the
 * agent must have set it (for a decision: own it) or have a releaser role. Decisions without an
 * owner, and progress, can be released by any agent that has sent or received the task. A reason is always required.
 */
import { BatonError } from "../base/errors.ts";
import { nearestNames } from "../base/nearest-names.ts";
import { findAddressee } from "../memory/agents.ts";
import type { StoredProgress } from "../memory/stored-ledger.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { CheckedRelease } from "./carry.ts";
import type { LedgerConstraint, LedgerDecision, LedgerProgress, ResolvedLedger } from "./ledger.ts";
import { readReleasers } from "./releasers.ts";

/** A requested release, as the caller wrote it. */
export interface ReleaseInput {
  /** The id of the constraint, decision or progress item on the ledger. */
  readonly id: string;
  readonly reason: string;
  /** The choice that was made; only for a decision. */
  readonly decided?: string | undefined;
}

/** The agent that asks for a release. */
export interface Releaser {
  readonly agent: string;
  /** Whether the agent holds work of this task and hands it on. */
  readonly isOnLine: boolean;
  /** Returns the input path of the release at index `i`, for error messages. */
  readonly pathOf: (i: number) => string;
}

type Item =
  | { readonly kind: "constraint"; readonly of: LedgerConstraint }
  | { readonly kind: "decision"; readonly of: LedgerDecision }
  | { readonly kind: StoredProgress["kind"]; readonly of: LedgerProgress };

/**
 * Returns the releases with the kind, text and author of each item. Throws `not_on_ledger` for an unknown or
 * repeated id, `not_permitted` if the agent may not release the item, and `invalid_input` if `decided` is
 * given for anything but a decision.
 */
export async function checkReleases(
  workspace: Workspace,
  releaser: Releaser,
  family: ResolvedLedger,
  asked: readonly ReleaseInput[],
): Promise<CheckedRelease[]> {
  const releasing: CheckedRelease[] = [];
  for (const [i, release] of asked.entries()) {
    const path = releaser.pathOf(i);
    const item = itemOf(family, release);
    const isTwice = releasing.some(({ kind, id }) => kind === item?.kind && id === release.id);
    if (item === undefined || isTwice) throw notOnLedger(family, release.id, path);
    if (item.kind !== "decision" && release.decided !== undefined) throw undecidable(item, path);
    await requireRight(workspace, releaser, family, { item, path });
    const { id, reason, decided } = release;
    const why = { reason, ...(decided === undefined ? {} : { decided }) };
    releasing.push({ id, kind: item.kind, said: textOf(item), setBy: item.of.by, ...why });
  }
  return releasing;
}

function textOf(item: Item): string {
  switch (item.kind) {
    case "constraint":
      return item.of.rule;
    case "decision":
      return item.of.question;
    default:
      return item.of.text;
  }
}

/** Finds the item by id. If a constraint and a decision share the id, `decided` selects the decision. */
function itemOf(
  { constraints, decisions, progress }: ResolvedLedger,
  { id, decided }: ReleaseInput,
): Item | undefined {
  const constraint = constraints.find((each) => each.id === id);
  const decision = decisions.find((each) => each.id === id);
  if (decision !== undefined && (decided !== undefined || constraint === undefined)) {
    return { kind: "decision", of: decision };
  }
  if (constraint !== undefined) return { kind: "constraint", of: constraint };
  const reported = progress.find((each) => each.id === id);
  return reported && { kind: reported.kind, of: reported };
}

async function requireRight(
  workspace: Workspace,
  releaser: Releaser,
  family: ResolvedLedger,
  { item, path }: { readonly item: Item; readonly path: string },
): Promise<void> {
  const entitled = entitledTo(item);
  if (entitled !== undefined && (await isSame(workspace, releaser.agent, entitled))) return;
  const roles = await readReleasers(workspace);
  // The agent's current role counts, not the one it had when its session started.
  const registered = await workspace.store.findAgent(workspace.name, releaser.agent);
  if (registered !== undefined && roles.includes(registered.role)) return;
  if (entitled === undefined) {
    if (releaser.isOnLine || (await hasSentOrReceived(workspace, family.task, releaser.agent)))
      return;
    throw notPermitted(item, path, "an agent that has sent or received the task", roles);
  }
  throw notPermitted(item, path, entitled, roles);
}

/**
 * Returns the agent entitled to release the item, or undefined for any agent that had the task. Progress is
 * open to all of these, because any of them can find out that it is no longer true.
 */
function entitledTo(item: Item): string | undefined {
  switch (item.kind) {
    case "constraint":
      return item.of.by;
    case "decision":
      return item.of.owner;
    default:
      return undefined;
  }
}

async function isSame(workspace: Workspace, agent: string, named: string): Promise<boolean> {
  return agent === named || (await findAddressee(workspace, named))?.id === agent;
}

/** Returns whether the agent sent, received or held a handoff of the task. */
async function hasSentOrReceived(
  workspace: Workspace,
  task: string,
  agent: string,
): Promise<boolean> {
  const line = await workspace.store.readLine(workspace.name, task);
  return line.some(
    ({ envelope, deliveries }) =>
      envelope.sender === agent ||
      deliveries.some(({ receiver, holder }) => receiver === agent || holder === agent),
  );
}

function notPermitted(
  { kind, of }: Item,
  path: string,
  entitled: string,
  roles: readonly string[],
): BatonError {
  const may = [entitled, ...roles.map((role) => `role:${role}`)];
  return new BatonError("not_permitted", {
    message: `${path}: the ${kind} "${of.id}" can only be released by ${may.join(", ")}.`,
    path,
    hint: "Ask one of them to release it; hub.settings.get() names the roles.",
    details: { id: of.id, kind, may },
  });
}

function undecidable({ kind, of }: Item, path: string): BatonError {
  const what = kind === "constraint" ? "a constraint" : `listed as ${kind}`;
  return new BatonError("invalid_input", {
    message: `${path}.decided: "${of.id}" is ${what}; only a decision takes "decided".`,
    path: `${path}.decided`,
    hint: "Remove decided; the reason is enough to release it.",
  });
}

/** Builds `not_on_ledger`, with similar ids and, if the item was released earlier, by which agent and why. */
export function notOnLedger(family: ResolvedLedger, id: string, path: string): BatonError {
  const live = [...family.constraints, ...family.decisions, ...family.progress].map(
    (each) => each.id,
  );
  const before = family.released.findLast((each) => each.id === id);
  const nearest = nearestNames(id, live);
  const released = before && ` ${before.by} already released it: ${before.reason}`;
  return new BatonError("not_on_ledger", {
    message: `${path}: no item with the id "${id}" is on the ledger of "${family.task}".${released ?? ""}`,
    path: `${path}.id`,
    hint:
      nearest.length > 0
        ? `Did you mean ${nearest.join(" or ")}?`
        : `Run baton ledger ${JSON.stringify(family.task)} to list its items.`,
    details: { id, task: family.task, nearest },
  });
}

/**
 * Whether something may be taken off a line: it must be on the ledger, and whoever takes it off must be
 * the one who set it (of a decision: who is to decide it), or have a role that may. A decision that is
 * nobody's may be settled by anybody on the line. A reason is always given.
 */
import { BatonError } from "../base/errors.ts";
import { nearestNames } from "../base/nearest-names.ts";
import { findAddressee } from "../memory/agents.ts";
import type { StoredProgress } from "../memory/stored-ledger.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { CheckedRelease } from "./carry.ts";
import type { LedgerConstraint, LedgerDecision, LedgerProgress, ResolvedLedger } from "./ledger.ts";
import { readReleasers } from "./releasers.ts";

/** What somebody wants to take off, and where that is said. */
export interface ReleaseInput {
  readonly id: string;
  readonly reason: string;
  readonly decided?: string | undefined;
}

export interface Releaser {
  readonly agent: string;
  /** It is handing on work of this task. */
  readonly isOnLine: boolean;
  /** Where a release is said. */
  readonly pathOf: (i: number) => string;
}

type Item =
  | { readonly kind: "constraint"; readonly of: LedgerConstraint }
  | { readonly kind: "decision"; readonly of: LedgerDecision }
  | { readonly kind: StoredProgress["kind"]; readonly of: LedgerProgress };

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

/** Where both have the id, what was decided tells which is meant. */
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
  // The role it has now, not the one it had when it began.
  const registered = await workspace.store.findAgent(workspace.name, releaser.agent);
  if (registered !== undefined && roles.includes(registered.role)) return;
  if (entitled === undefined) {
    if (releaser.isOnLine || (await hasSentOrReceived(workspace, family.task, releaser.agent)))
      return;
    throw notPermitted(item, path, "an agent that has sent or received the task", roles);
  }
  throw notPermitted(item, path, entitled, roles);
}

/** Every agent that has had the task may release progress, because any of them can find out that it no longer holds. */
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

/** Whether it has sent the task to somebody, or was sent it. */
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
    message: `${path}: the ${kind} "${of.id}" may be released by ${may.join(", ")}.`,
    path,
    hint: "Ask one of them, and let them release it; hub.settings.get() names the roles.",
    details: { id: of.id, kind, may },
  });
}

function undecidable({ kind, of }: Item, path: string): BatonError {
  const what = kind === "constraint" ? "a constraint" : `listed as ${kind}`;
  return new BatonError("invalid_input", {
    message: `${path}.decided: "${of.id}" is ${what}, and nothing about it is to be decided.`,
    path: `${path}.decided`,
    hint: "Leave it out: the reason says why it no longer holds.",
  });
}

export function notOnLedger(family: ResolvedLedger, id: string, path: string): BatonError {
  const live = [...family.constraints, ...family.decisions, ...family.progress].map(
    (each) => each.id,
  );
  const before = family.released.findLast((each) => each.id === id);
  const nearest = nearestNames(id, live);
  const released = before && ` ${before.by} released it before: ${before.reason}`;
  return new BatonError("not_on_ledger", {
    message: `${path}: nothing on the ledger of "${family.task}" has the id "${id}".${released ?? ""}`,
    path: `${path}.id`,
    hint:
      nearest.length > 0
        ? `Did you mean ${nearest.join(" or ")}?`
        : `baton ledger ${JSON.stringify(family.task)} shows what holds.`,
    details: { id, task: family.task, nearest },
  });
}

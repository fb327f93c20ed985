/**
 * Renders a handoff that an agent holds or that waits for it, for the catch-up: in full if it fits, otherwise
 * what is binding, otherwise one line.
 */

import { type InboxOwner, inboxesOf } from "../../delivery/watch/inbox-listing.ts";
import { type Warning, warningsOf } from "../../delivery/work/warnings.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { type LedgerProgress, resolveLedger } from "../../ledger/ledger.ts";
import { anyMarked } from "../../memory/quarantine/quarantine-mark.ts";
import { tryParseEnvelope } from "../../store/parse-envelope.ts";
import { OPEN_STATES } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import { fenceText, quoteText } from "../../text/fence.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** The maximum number of open handoffs that are shown one by one. */
export const HANDOFFS_SHOWN = 20;

/** An open handoff with what the catch-up shows of it. */
export interface OpenHandoff extends DeliveryWithEnvelopeRow {
  /** Undefined if this version of Baton cannot read the envelope. */
  readonly parsed: Envelope | undefined;
  /** What earlier handoffs of the task reported. */
  readonly progress: readonly LedgerProgress[];
  /** Quarantined memories that it carries. */
  readonly warnings: readonly Warning[];
}

/**
 * Returns the open handoffs of a receiver: one more than is shown, so that the text can state that there are
 * more.
 */
export async function openHandoffs(
  workspace: Workspace,
  receiver: InboxOwner,
  task: string | undefined,
): Promise<readonly OpenHandoff[]> {
  const [open, marked] = await Promise.all([
    workspace.store.listDeliveries({
      workspace: workspace.name,
      receivers: inboxesOf(receiver),
      states: OPEN_STATES,
      ...(task === undefined ? {} : { task }),
      limit: HANDOFFS_SHOWN + 1,
    }),
    anyMarked(workspace),
  ]);
  const ledgers = new Map<string, ReturnType<typeof resolveLedger>>();
  const ledgerOf = (of: string): ReturnType<typeof resolveLedger> => {
    const found = ledgers.get(of) ?? resolveLedger(workspace, of);
    ledgers.set(of, found);
    return found;
  };
  return Promise.all(
    open.map(async (claimed) => ({
      ...claimed,
      parsed: tryParseEnvelope(workspace, claimed.envelope),
      progress: (await ledgerOf(claimed.delivery.task)).progress,
      warnings: marked ? await warningsOf(workspace, claimed) : [],
    })),
  );
}

/** Returns true if the agent has accepted it, in any session. */
export const isHeldBy = (agent: string, { delivery }: DeliveryWithEnvelopeRow): boolean =>
  delivery.state === "accepted" && delivery.holder === agent;

/** Renders one line, with its warnings. */
export function handoffLine({ delivery, warnings }: OpenHandoff): string {
  const { task, sender, state, id } = delivery;
  const head = `- ${quoteText(task)}, from ${sender}, ${state} (${id})`;
  const shown = warnings.slice(0, WARNINGS_SHOWN).map(warningLine);
  const more = warnings.length - shown.length;
  const rest = more === 0 ? [] : [`  (${more} more quarantined memories.)`];
  return [head, ...shown, ...rest].join("\n");
}

/** Warnings shown per handoff. Accepting it returns all of them. */
const WARNINGS_SHOWN = 3;

const warningLine = ({ memory, by }: Warning): string =>
  `  Do not build on ${memory}: quarantined by ${by}.`;

/** Renders it with what binds its holder: must constraints, what must not be redone, open decisions. */
export const handoffBindings = (open: OpenHandoff): string =>
  withBody(open, (envelope) => bindingsOf(envelope, open.progress));

/** Renders it with everything about its state. */
export const handoffInFull = (open: OpenHandoff): string =>
  withBody(open, (envelope) => {
    const { intent, state, next, blocked } = envelope;
    return [
      intent,
      ...(state === undefined ? [] : [`state: ${state}`]),
      ...next.map((step) => `next: ${step}`),
      ...blocked.map(({ what }) => `blocked: ${what}`),
      ...bindingsOf(envelope, open.progress),
    ];
  });

function withBody(open: OpenHandoff, bodyOf: (envelope: Envelope) => readonly string[]): string {
  const line = handoffLine(open);
  if (open.parsed === undefined) return `${line}\n  This version of Baton cannot read it.`;
  const reasons = open.warnings
    .slice(0, WARNINGS_SHOWN)
    .map(({ memory, reason }) => `quarantined (${memory}): ${reason}`);
  const body = [...reasons, ...bodyOf(open.parsed)];
  return body.length === 0 ? line : `${line}\n${fenceText(body.join("\n"))}`;
}

/** How many completed steps are shown, the newest first, because a long line has more than a reader needs. */
const DONE_SHOWN = 12;

function bindingsOf(envelope: Envelope, progress: readonly LedgerProgress[]): string[] {
  const reported = (kind: LedgerProgress["kind"], own: readonly string[]): string[] => [
    ...new Set([
      ...own,
      ...progress
        .filter((each) => each.kind === kind)
        .map(({ text }) => text)
        .reverse(),
    ]),
  ];
  const done = reported("done", envelope.done);
  const left = done.length - DONE_SHOWN;
  return [
    ...envelope.constraints
      .filter(({ level }) => level === "must")
      .map(({ id, rule }) => `must (${id}): ${rule}`),
    ...reported("doNotRedo", envelope.doNotRedo).map((text) => `do not redo: ${text}`),
    ...done.slice(0, DONE_SHOWN).map((text) => `done: ${text}`),
    ...(left > 0 ? [`(${left} more done: see the ledger of the task)`] : []),
    ...envelope.decisions.map(({ id, question }) => `open decision (${id}): ${question}`),
  ];
}

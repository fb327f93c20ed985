/**
 * Delivers earlier handoffs of a channel to an agent that subscribes later. Each is a copy of the envelope
 * with the original as its parent; the original and its deliveries are unchanged.
 */

import type { Envelope } from "../../envelope/schema.ts";
import { reseal } from "../../envelope/seal.ts";
import { isClosed } from "../../ledger/closed-tasks.ts";
import { refreshCarriedFields } from "../../ledger/reseal.ts";
import { type Memory, memoryOf } from "../../memory/record.ts";
import { systemAuthor } from "../../memory/system-author.ts";
import { visibilityOf } from "../../memory/visibility.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import { type EnvelopeRow, type PublishStep, publicationMark } from "../../store/rows.ts";
import { IGNORE_BREAKER } from "../../store/store.ts";
import { toEntryText } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { decisionRecord, newEnvelopeOf } from "../due/moves.ts";
import { awaitsTasks } from "../due/open-delivery.ts";
import { channelTag } from "../settings/channels.ts";
import { AT_ONCE_MS, FOREVER_MS, lapse } from "../settings/policy.ts";
import { receiverError } from "../settings/receivers.ts";

/** Kind of the entry that marks that an agent has received a copy. */
const REPLAYED = "replayed";

/**
 * Delivers what was published since a time (0: from the start), oldest first. Returns the number of copies.
 */
export async function replay(
  workspace: Workspace,
  channel: string,
  { agent, since }: { readonly agent: string; readonly since: number },
): Promise<number> {
  const published = await publications(workspace, channel, since);
  const originals = new Originals(workspace);
  let replayed = 0;
  for (const memory of published) {
    if (wasDeliveredTo(memory, agent)) continue;
    const envelope = await originals.of(memory);
    // A redacted envelope has no content left to deliver.
    if (envelope === undefined || envelope.redacted !== undefined) continue;
    if (await isClosed(workspace, envelope.task)) continue; // A closed task takes no more handoffs.
    if (await deliverCopy(workspace, { agent, memory, envelope })) replayed++;
  }
  return replayed;
}

/** Returns the handoff records of a channel, oldest first. */
async function publications(
  workspace: Workspace,
  channel: string,
  since: number,
): Promise<Memory[]> {
  const { store, name, limits } = workspace;
  const found: Memory[] = [];
  const sight = await visibilityOf(workspace);
  const filter = { tag: channelTag(channel), type: "handoff" };
  let before: string | undefined;
  for (;;) {
    const page = await store.recentMemories({
      workspace: name,
      sight,
      filter,
      limit: limits.pageSize,
      ...(before === undefined ? {} : { before }),
    });
    found.push(...page.filter((row) => row.storedAt >= since).map(memoryOf));
    const last = page.at(-1);
    if (last === undefined || page.length < limits.pageSize || last.storedAt < since) break;
    before = last.id;
  }
  return found.filter((memory) => stepOf(memory) !== undefined).reverse();
}

const stepOf = ({ trail }: Memory): PublishStep | undefined =>
  trail?.find((step) => step.verb === "publish");

const wasDeliveredTo = (memory: Memory, agent: string): boolean =>
  stepOf(memory)?.deliveries.some(([, receiver]) => receiver === agent) ?? false;

/** Finds the envelopes of published handoffs by id; reads each line once. */
class Originals {
  readonly #workspace: Workspace;
  readonly #lines = new Map<string, ReadonlyMap<string, EnvelopeRow>>();

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  async of({ task = "", envelope }: Memory): Promise<Envelope | undefined> {
    const line = this.#lines.get(task) ?? (await this.#read(task));
    this.#lines.set(task, line);
    const row = line.get(envelope?.id ?? "");
    return row && parseEnvelope(this.#workspace, row);
  }

  async #read(task: string): Promise<ReadonlyMap<string, EnvelopeRow>> {
    const line = await this.#workspace.store.readLine(this.#workspace.name, task);
    return new Map(line.map(({ envelope }) => [envelope.id, envelope]));
  }
}

/**
 * Delivers a copy. False if the agent has one already: each subscriber gets one, however often it subscribes.
 */
async function deliverCopy(
  workspace: Workspace,
  of: { readonly agent: string; readonly memory: Memory; readonly envelope: Envelope },
): Promise<boolean> {
  const { agent, memory, envelope } = of;
  const { ids, limits, name, branch, store } = workspace;
  const carried = await refreshCarriedFields(workspace, envelope);
  const changes = { ...carried, id: ids.mint("envelope"), parents: [envelope.id] };
  const sealed = reseal(envelope, changes, workspace);
  const author = await systemAuthor(workspace);
  const id = ids.mint("delivery");
  const record = {
    type: "handoff",
    task: envelope.task,
    content: `Delivered to ${agent} what ${envelope.from.agent} published before it subscribed.`,
    relations: [{ kind: "continues-from" as const, to: memory.id }],
  };
  const trail = [{ deliveries: [[id, agent] as const], verb: "publish" as const }];
  const { policy } = envelope;
  const outcome = await store.sendHandoff({
    workspace: name,
    branch,
    memory: decisionRecord(workspace, author, record, { trail, sealed }),
    envelope: newEnvelopeOf(sealed),
    deliveries: [
      {
        id,
        receiver: agent,
        maxAttempts: policy?.attempts ?? limits.attempts,
        ahead: 0,
        ...(awaitsTasks(envelope)
          ? { state: "scheduled", delayMs: FOREVER_MS, lapseMs: AT_ONCE_MS }
          : { state: "ready", delayMs: 0, lapseMs: lapse(policy, 0) }),
        reason: "",
        deadline: policy?.deadline ?? 0,
      },
    ],
    parent: publicationMark(sealed.envelope.id),
    breaker: IGNORE_BREAKER, // The subscriber requested it.
    entries: [
      { kind: REPLAYED, name: `${envelope.id}:${agent}`, value: toEntryText({}), basedOn: 0 },
    ],
  });
  if (outcome.kind === "entry_changed") return false;
  if (outcome.kind === "unknown_receiver" || outcome.kind === "receiver_disabled") {
    throw await receiverError(workspace, outcome);
  }
  if (outcome.kind !== "sent") throw new Error(`a copy was refused: ${outcome.kind}`);
  return true;
}

/**
 * Reports the impact of a memory: the records that build on it, directly or through others; the handoffs that
 * carried any of them, with their states; the agents that saw them. The report states what it omits: records
 * that the reader may not see are counted, and records where a limit stopped the walk are named.
 */
import * as z from "zod";
import { clip } from "../../base/clip.ts";
import { checkLimit } from "../../base/limits.ts";
import { MemoryId } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { type DeliveryRow, isOpen, type MemoryRow, type TrailStep } from "../../store/rows.ts";
import { VIEW_TYPE } from "../../store/search.ts";
import { isRowInScope } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { readVisible, unknownMemory } from "../read.ts";
import { type Memory, memoryOf } from "../record.ts";
import { SYSTEM } from "../system-author.ts";
import { chunksOf, downstreamOf, type ReachedRecord, type WalkCutoff } from "./downstream.ts";
import { marksOf } from "./quarantine-mark.ts";

/** Input of impactOf(). */
export const ImpactSchema = z.strictObject({
  /** The most steps to follow. Default and maximum: the limit `impactDepth`. */
  depth: z.int().positive().optional(),
  /** The most records to visit. Default and maximum: the limit `impactVisits`. */
  limit: z.int().positive().optional(),
});

export type ImpactQuery = z.input<typeof ImpactSchema>;

/** A record that builds on the memory. */
export interface ImpactMemory {
  readonly id: string;
  readonly type: string;
  readonly agent: string;
  readonly task?: string;
  readonly branch: string;
  readonly storedAt: number;
  /** The beginning of its content. */
  readonly about: string;
  /** The number of steps from the memory. */
  readonly depth: number;
  /** The relation by which it was reached; `memory` is its target, absent if the reader may not see it. */
  readonly via: { readonly kind: string; readonly memory?: string };
  readonly quarantined: boolean;
}

/** A handoff that carried the memory or a downstream record, at one receiver. */
export interface ImpactDelivery {
  readonly id: string;
  readonly task: string;
  readonly sender: string;
  readonly receiver: string;
  readonly state: DeliveryRow["state"];
  readonly open: boolean;
  /** The agent that holds it, or held it last; absent if none did. */
  readonly holder?: string;
  /** The envelope that carried it. */
  readonly envelope: string;
  /** The handoff record of that envelope. */
  readonly memory: string;
}

/** How an agent can have seen a memory. */
export const EXPOSURE_WAYS = ["accepted", "claimed", "viewed", "wrote"] as const;

/**
 * An agent that saw the memory or a downstream record: it accepted or claimed a handoff that carried it, got
 * it in a view, or wrote a downstream record.
 */
export interface ImpactAgent {
  readonly agent: string;
  readonly ways: readonly (typeof EXPOSURE_WAYS)[number][];
}

/** The impact of a memory. */
export interface Impact {
  readonly memory: Memory;
  /** Breadth first; at each depth, older records before newer ones. */
  readonly downstream: readonly ImpactMemory[];
  readonly envelopes: readonly string[];
  readonly deliveries: readonly ImpactDelivery[];
  readonly agents: readonly ImpactAgent[];
  /** The number of downstream records that the reader may not see. */
  readonly hidden: number;
  /** Whether a limit stopped the walk; call again for the memories in `cut`. */
  readonly more: boolean;
  /** The visible records where the walk stopped. */
  readonly cut: readonly WalkCutoff[];
}

const EXCERPT_LENGTH = 120;

/** Returns the impact of a memory. Throws `unknown_memory` if it does not exist or is not visible. */
export async function impactOf(
  workspace: Workspace,
  id: string,
  query: ImpactQuery,
): Promise<Impact> {
  const { limits, reader } = workspace;
  const { depth = limits.impactDepth, limit = limits.impactVisits } = parseOrThrow(
    ImpactSchema,
    query,
    {
      code: "invalid_input",
      what: "The query",
    },
  );
  checkLimit(limits, "impactDepth", { actual: depth, path: "depth" });
  checkLimit(limits, "impactVisits", { actual: limit, path: "limit" });
  const named = parseOrThrow(MemoryId, id, {
    code: "invalid_input",
    what: "The memory id",
    prefix: "id",
  });
  const [root] = await requireRows(workspace, [named]);
  if (root === undefined) throw new Error("the store returned no row for an existing id");
  const { reached, cut } = await downstreamOf(workspace, [root.id], { depth, limit });
  const all = reached.map((each) => ({ ...each, memory: memoryOf(each.row) }));
  // Views are reported under agents, not downstream: being shown a memory does not build on it.
  const came = all.filter(({ memory }) => !isView(memory));
  const parsed = came.filter(({ row }) => isRowInScope(row, reader));
  const visible = new Set([root.id, ...parsed.map(({ row }) => row.id)]);
  const marks = await marksOf(workspace, [...visible]);
  const records = [memoryOf(root), ...came.map(({ memory }) => memory)];
  const views = viewsShowing(
    new Set(records.map((record) => record.id)),
    all.map(({ memory }) => memory),
  );
  const deliveries = await carriersOf(workspace, [...records, ...views]);
  const rootMark = marks.get(root.id);
  return {
    memory: { ...memoryOf(root), ...(rootMark && { quarantined: rootMark }) },
    downstream: parsed.map((each) => itemOf(each, { visible, marked: marks.has(each.row.id) })),
    envelopes: records.flatMap(({ envelope }) => envelope?.id ?? []),
    deliveries: deliveries.map(impactDeliveryOf),
    agents: await findExposedAgents(
      workspace,
      [...parsed.map(({ memory }) => memory), ...views],
      deliveries,
    ),
    hidden: came.length - parsed.length,
    more: cut.length > 0,
    cut: cut.filter(({ memory }) => visible.has(memory)),
  };
}

function itemOf(
  { memory, depth, from, kind }: ReachedRecord & { readonly memory: Memory },
  { visible, marked }: { readonly visible: ReadonlySet<string>; readonly marked: boolean },
): ImpactMemory {
  const { id, type, agent, task, branch, storedAt, content } = memory;
  const about = clip(content.trim().split("\n", 1)[0] ?? "", EXCERPT_LENGTH);
  const via = { kind, ...(visible.has(from) ? { memory: from } : {}) };
  const of = { id, type, agent, ...(task === undefined ? {} : { task }), branch, storedAt };
  return { ...of, about, depth, via, quarantined: marked };
}

/** Returns the rows with these ids. Throws `unknown_memory` if the reader may not see one of them. */
export async function requireRows(
  workspace: Workspace,
  ids: readonly string[],
): Promise<MemoryRow[]> {
  const found = new Map<string, MemoryRow>();
  for (const chunk of chunksOf(ids)) {
    for (const row of await readVisible(workspace, chunk)) found.set(row.id, row);
  }
  return ids.map((id) => {
    const row = found.get(id);
    if (row !== undefined) return row;
    throw unknownMemory(workspace, id, "id");
  });
}

const isView = ({ type }: Memory): boolean => type === VIEW_TYPE;

/** Returns the memories that a view showed; its first reference is the acceptance it was made for. */
const shownIn = ({ refs = [] }: Memory): readonly string[] => refs.slice(1);

/** Returns the views that showed any of these memories. */
const viewsShowing = (ids: ReadonlySet<string>, records: readonly Memory[]): Memory[] =>
  records.filter((record) => isView(record) && shownIn(record).some((id) => ids.has(id)));

/** A delivery, and the record with the envelope it got. */
export interface Carrier {
  readonly delivery: DeliveryRow;
  readonly record: string;
  readonly envelope: string;
}

/** Returns the deliveries of these records' envelopes, each once, with the first record that reached it. */
export async function carriersOf(
  { store, name }: Workspace,
  records: readonly Memory[],
): Promise<Carrier[]> {
  const went = new Map<string, { readonly record: string; readonly envelope: string }>();
  for (const { id: record, envelope, trail = [] } of records) {
    if (envelope === undefined) continue;
    for (const delivery of trail.flatMap(givenBy)) {
      if (!went.has(delivery)) went.set(delivery, { record, envelope: envelope.id });
    }
  }
  const views = new Map(records.flatMap(viewedIn));
  for (const [delivery, { id: record }] of views) {
    if (!went.has(delivery)) went.set(delivery, { record, envelope: "" });
  }
  const carriers: Carrier[] = [];
  for (const chunk of chunksOf([...went])) {
    const found = await Promise.all(chunk.map(([id]) => store.findDelivery(name, id)));
    for (const [i, [, how]] of chunk.entries()) {
      const delivery = found[i]?.delivery;
      if (delivery === undefined) continue;
      if (how.envelope !== "") carriers.push({ delivery, ...how });
      else if (isOwnView(delivery, views.get(delivery.id))) {
        carriers.push({ delivery, ...how, envelope: delivery.envelope });
      }
    }
  }
  return carriers;
}

/** Returns the delivery that a view states it was made for. */
function viewedIn(record: Memory): [string, Memory][] {
  const delivery = record.data?.["delivery"];
  return isView(record) && typeof delivery === "string" ? [[delivery, record]] : [];
}

/** Any agent can write a memory of type `view`; a real one is by the holder and for this acceptance. */
const isOwnView = ({ holder, acceptedBy }: DeliveryRow, view: Memory | undefined): boolean =>
  view !== undefined && view.agent === holder && view.refs?.[0] === acceptedBy;

/** Returns the deliveries that a step gave the envelope to; a handoff also ends one, which does not count. */
function givenBy(step: TrailStep): string[] {
  if (step.verb === "publish") return step.deliveries.map(([id]) => id);
  return step.verb === "complete" ? [] : [step.delivery];
}

function impactDeliveryOf({ delivery, record, envelope }: Carrier): ImpactDelivery {
  const { id, task, sender, receiver, state, holder } = delivery;
  const where = { id, task, sender, receiver, state, open: isOpen(state) };
  return { ...where, ...(holder === "" ? {} : { holder }), envelope, memory: record };
}

async function findExposedAgents(
  { store, name }: Workspace,
  downstream: readonly Memory[],
  carriers: readonly Carrier[],
): Promise<ImpactAgent[]> {
  const ways = new Map<string, Set<(typeof EXPOSURE_WAYS)[number]>>();
  const saw = (agent: string, way: (typeof EXPOSURE_WAYS)[number]): void => {
    if (agent === "" || agent === SYSTEM) return; // The hub itself does not act on what it carries.
    ways.set(agent, (ways.get(agent) ?? new Set()).add(way));
  };
  for (const record of downstream) {
    const accepted = record.trail?.some(({ verb }) => verb === "accept");
    saw(record.agent, isView(record) ? "viewed" : accepted ? "accepted" : "wrote");
  }
  for (const { delivery } of carriers) {
    if (delivery.attempt === 0) continue;
    saw(delivery.holder, delivery.acceptedAt > 0 ? "accepted" : "claimed");
    for (const { holder } of await store.readAttempts(name, delivery.id)) saw(holder, "claimed");
  }
  return [...ways]
    .map(([agent, set]) => ({ agent, ways: EXPOSURE_WAYS.filter((way) => set.has(way)) }))
    .sort((a, b) => (a.agent < b.agent ? -1 : 1));
}

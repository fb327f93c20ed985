/**
 * The blast radius of a memory: all that came of it. Records that build on it, directly or through
 * others; the handoffs that carried any of it, with where each stands; the agents that saw it. A report
 * that says what it left out: what the reader may not see is counted, where a limit ended the walk is
 * named.
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
import { SYSTEM } from "../agents.ts";
import { readVisible, unknownMemory } from "../read.ts";
import { type Memory, memoryOf } from "../record.ts";
import { chunksOf, downstreamOf, type ReachedRecord, type WalkCutoff } from "./downstream.ts";
import { marksOf } from "./quarantine-mark.ts";

export const ImpactSchema = z.strictObject({
  /** Steps to follow; else the limit `impactDepth`. */
  depth: z.int().positive().optional(),
  /** Records to visit; else the limit `impactVisits`. */
  limit: z.int().positive().optional(),
});

export type ImpactQuery = z.input<typeof ImpactSchema>;

/** A record that came of it. */
export interface ImpactMemory {
  readonly id: string;
  readonly type: string;
  readonly agent: string;
  readonly task?: string;
  readonly branch: string;
  readonly storedAt: number;
  /** How its content begins. */
  readonly about: string;
  /** Steps from the memory that was asked about. */
  readonly depth: number;
  /** How it was reached: it points to `memory`, one step nearer; absent if the reader may not see it. */
  readonly via: { readonly kind: string; readonly memory?: string };
  readonly quarantined: boolean;
}

/** A handoff that carried it, at one receiver. */
export interface ImpactDelivery {
  readonly id: string;
  readonly task: string;
  readonly sender: string;
  readonly receiver: string;
  readonly state: DeliveryRow["state"];
  readonly open: boolean;
  /** The agent that holds it, or held it last. */
  readonly holder?: string;
  /** The envelope that carried it, and the handoff record of that. */
  readonly envelope: string;
  readonly memory: string;
}

export const EXPOSURE_WAYS = ["accepted", "claimed", "viewed", "wrote"] as const;

/**
 * Who saw it: accepted a handoff that carried it, claimed one, was shown it in a view, or wrote something
 * that came of it.
 */
export interface ImpactAgent {
  readonly agent: string;
  readonly ways: readonly (typeof EXPOSURE_WAYS)[number][];
}

export interface Impact {
  readonly memory: Memory;
  /** Breadth first, older ones before newer ones at each step. */
  readonly downstream: readonly ImpactMemory[];
  readonly envelopes: readonly string[];
  readonly deliveries: readonly ImpactDelivery[];
  readonly agents: readonly ImpactAgent[];
  /** Records that came of it and that the reader may not see. */
  readonly hidden: number;
  /** True: there is more. Ask for the impact of the records in `cut`, which are those that are shown. */
  readonly more: boolean;
  readonly cut: readonly WalkCutoff[];
}

const EXCERPT_LENGTH = 120;

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
  if (root === undefined) throw new Error("one id was asked for, no row came back");
  const { reached, cut } = await downstreamOf(workspace, [root.id], { depth, limit });
  const all = reached.map((each) => ({ ...each, memory: memoryOf(each.row) }));
  // That somebody was shown it is told with who saw it: nothing came of it by that.
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

/** The records, each of which the reader may see; one that is not there is named. */
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

/** Of a view, the acceptance it was composed under comes first; what it showed, after that. */
const shownIn = ({ refs = [] }: Memory): readonly string[] => refs.slice(1);

/** The views in which any of these was shown. */
const viewsShowing = (ids: ReadonlySet<string>, records: readonly Memory[]): Memory[] =>
  records.filter((record) => isView(record) && shownIn(record).some((id) => ids.has(id)));

/** A delivery, and the record whose envelope it was given. */
export interface Carrier {
  readonly delivery: DeliveryRow;
  readonly record: string;
  readonly envelope: string;
}

/** Where the envelopes of these records went, each delivery once: by the first that reached it. */
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

/** The delivery whose holder a view was shown to, as the view says. */
function viewedIn(record: Memory): [string, Memory][] {
  const delivery = record.data?.["delivery"];
  return isView(record) && typeof delivery === "string" ? [[delivery, record]] : [];
}

/** Anybody may call a record a view: it is one of who holds the work, and of this acceptance. */
const isOwnView = ({ holder, acceptedBy }: DeliveryRow, view: Memory | undefined): boolean =>
  view !== undefined && view.agent === holder && view.refs?.[0] === acceptedBy;

/** The deliveries a step gave the envelope of its record to; handing on also ends one. */
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
    if (agent === "" || agent === SYSTEM) return; // The hub itself is nobody who could be misled.
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

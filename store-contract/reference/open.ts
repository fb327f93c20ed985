/**
 * The reference store: everything in arrays, every operation read top to bottom. It is what the
 * other stores are compared with in the model-based tests, so it is written to be obviously right,
 * not fast: nothing is indexed, every look-up is a search, every change makes a new row.
 *
 * An operation runs to its end without waiting, so it is atomic; one that throws changes nothing,
 * because it works on a copy of the lists that replaces the old ones at the end.
 */
import type { Clock } from "../../src/base/clock.ts";
import {
  type Archive,
  type ArchivedRow,
  type Exported,
  type ImportOutcome,
  totalOf,
  unequal,
} from "../../src/store/archive.ts";
import { genesis, nextLink } from "../../src/store/chain.ts";
import { storeClosed } from "../../src/store/closed.ts";
import { isAsSeen } from "../../src/store/extension.ts";
import { holdsFor, passes } from "../../src/store/filter.ts";
import {
  type AgentRow,
  type AttemptRow,
  agentDigest,
  BREAKER,
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  type EntryRow,
  type EnvelopeRow,
  type EventKind,
  type EventRow,
  entryDigest,
  isHeld,
  isOpen,
  type MemoryRow,
  type NewDelivery,
  type NewEnvelope,
  type NewMemory,
  type RelationEdge,
  roleInbox,
  soonest,
} from "../../src/store/rows.ts";
import { delayAfter, isFree, lapseAfter, stateAfter } from "../../src/store/settlement.ts";
import { isSeen, isSeenBeyond, TRUNK } from "../../src/store/sight.ts";
import { SqlProcesses } from "../../src/store/sql/processes.ts";
import type {
  Books,
  BrowseDeliveries,
  ClaimDeliveries,
  Claimed,
  InboxCursor,
  Lease,
  LeaseLost,
  LeaseRefusal,
  Moment,
  Move,
  MoveDeliveries,
  Place,
  PrunedTrace,
  PruneTrace,
  PutEntry,
  ReceiverRefusal,
  RecordRefusal,
  SendHandoff,
  Session,
  Settlement,
  Store,
} from "../../src/store/store.ts";
import { CLOSED, NOT_MINDED } from "../../src/store/store.ts";
import { verifyWorkspace } from "../../src/store/verify/workspace.ts";
import { WakeBell } from "../../src/store/wake.ts";
import { exportLists, type Lists, listsOf, occupied, summaryOf } from "./archive.ts";
import { Models } from "./models.ts";
import { type Head, nextSteps, prunableEvents, prunableSteps, tracesIn } from "./prune.ts";
import { eraseIn, seekIn } from "./redact.ts";
import { search } from "./search.ts";
import { tablesOf } from "./sql.ts";

type In<Row> = Row & { readonly workspace: string };

/** All there is. A write works on a copy. */
interface Shelf {
  agents: In<AgentRow>[];
  memories: In<MemoryRow>[];
  relations: In<RelationEdge>[];
  envelopes: In<EnvelopeRow>[];
  deliveries: In<DeliveryRow>[];
  attempts: In<AttemptRow>[];
  events: In<EventRow>[];
  entries: In<EntryRow>[];
  /** Where chains ended whose last record was pruned, and how much has gone: numbers only rise. */
  heads: In<Head>[];
  gone: { readonly memories: number; readonly events: number };
}

export function openReferenceStore(options: { readonly clock: Clock }): Store {
  return new ReferenceStore(options.clock);
}

class ReferenceStore implements Store {
  readonly name = "memory";
  readonly #clock: Clock;
  readonly #bell = new WakeBell();
  readonly #processes = new SqlProcesses("memory");
  readonly #models = new Models();
  #closed = false;
  #shelf: Shelf = {
    agents: [],
    memories: [],
    relations: [],
    envelopes: [],
    deliveries: [],
    attempts: [],
    events: [],
    entries: [],
    heads: [],
    gone: { memories: 0, events: 0 },
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  registerAgent: Store["registerAgent"] = (operation) =>
    this.#write(operation.workspace, (write) => {
      const { agent, basedOn } = operation;
      for (const name of [agent.id, ...agent.aliases]) {
        const owner = write.agentNamed(name);
        if (owner !== undefined && owner.id !== agent.id) {
          return { kind: "name_taken", name, by: owner.id };
        }
      }
      const current = write.agentNamed(agent.id);
      if ((current?.revision ?? 0) !== basedOn) return { kind: "changed" };
      const sameKey = agent.publicKey === (current?.publicKey ?? "");
      const keyedAt = sameKey ? (current?.keyedAt ?? 0) : write.keyTime();
      const row = { ...agent, keyedAt, revision: basedOn + 1 };
      const stored: AgentRow = { ...row, digest: agentDigest(row) };
      write.putAgent(stored);
      return { kind: "registered", agent: stored };
    });

  appendMemories: Store["appendMemories"] = (operation) =>
    this.#write(operation.workspace, (write) => {
      const { lease, memories, branch, entries = [], tip } = operation;
      const lost = lease && write.leaseLost(lease);
      if (lost !== undefined) return lost;
      const moved = tip !== undefined && write.tip(tip.branch) !== tip.seq;
      const places: Place[] = [];
      for (const memory of memories) {
        const refused = write.refuseRecord(branch, memory);
        if (refused !== undefined) return write.takeBack(refused);
        places.push(write.append(branch, memory));
      }
      for (const entry of entries) {
        const current = write.entry(entry.kind, entry.name);
        if ((current?.revision ?? 0) !== entry.basedOn) {
          return write.takeBack({ kind: "entry_changed", entry: current });
        }
      }
      if (moved) return write.takeBack({ kind: "tip_moved" });
      for (const entry of entries) write.putEntry(entry);
      const envelope = lease === undefined ? "" : write.renew(lease).envelope;
      return { kind: "appended", places, envelope };
    });

  putEntry: Store["putEntry"] = (workspace, entry, event) =>
    this.#write(workspace, (write) => {
      const current = write.entry(entry.kind, entry.name);
      if ((current?.revision ?? 0) !== entry.basedOn) return { kind: "changed", entry: current };
      const put = write.putEntry(entry);
      if (event !== undefined) write.recordOf(event.kind, event.agent);
      return { kind: "put", entry: put };
    });

  sendHandoff: Store["sendHandoff"] = (operation) =>
    this.#write(operation.workspace, (write) => {
      const { envelope, memory, branch, settles, extend, entries = [] } = operation;
      const lost = settles && write.refuseLease(settles);
      if (lost !== undefined) return lost;
      const own = settles && write.held(settles);
      if (own !== undefined && own.state !== "accepted") {
        return { kind: "lease_lost", delivery: own };
      }
      const [only, ...others] = operation.deliveries;
      const single = others.length === 0 ? only : undefined;
      for (const { receiver } of operation.deliveries) {
        const refused = write.refuseReceiver(receiver);
        if (refused !== undefined) return refused;
      }
      const missing = envelope.parents.find((id) => write.envelope(id) === undefined);
      if (missing !== undefined) return { kind: "missing_parent", envelope: missing };
      const refused = write.refuseRecord(operation.branch, memory);
      if (refused !== undefined) return refused;
      for (const entry of entries) {
        const now = write.entry(entry.kind, entry.name);
        if ((now?.revision ?? 0) !== entry.basedOn) return { kind: "entry_changed", entry: now };
      }
      const open = single && write.sameWork(operation, single);
      if (!isAsSeen(open, extend)) {
        return {
          kind: "changed",
          open: open && { delivery: open, memory: write.envelopeOf(open).memory },
        };
      }
      const breaker = single && write.entry(BREAKER, single.receiver);
      const minded = single !== undefined && !open && operation.breaker !== NOT_MINDED;
      if (minded && (breaker?.revision ?? 0) !== operation.breaker) {
        return { kind: "breaker_changed", entry: breaker };
      }
      const taken = write.takenId(operation);
      if (taken !== undefined) return { kind: "id_taken", id: taken };
      const place = write.append(branch, memory);
      write.addEnvelope(envelope, place);
      for (const entry of entries) write.putEntry(entry);
      if (own !== undefined) {
        write.finish(own, { kind: "completed" }, { place, reason: "" });
        write.wake(own.sender);
      }
      return { kind: "sent", place, ...write.deliver(operation, { open, at: place.storedAt }) };
    });

  claimDeliveries: Store["claimDeliveries"] = (operation) =>
    this.#write(operation.workspace, (write) => {
      const { receiver, accept, limit } = operation;
      const refused = write.refuseAuthor({ agent: receiver, publicKey: operation.publicKey });
      if (refused !== undefined) return refused;
      write.mature();
      const claimed: Claimed[] = [];
      for (const candidate of write.claimable(operation)) {
        const delivery = write.claim(candidate, operation);
        const envelope = write.envelopeOf(delivery);
        if (accept === undefined) {
          write.record("claimed", receiver, delivery);
          claimed.push({ delivery, envelope });
          continue;
        }
        const memory = accept({ delivery: { ...delivery, state: "accepted" }, envelope });
        const bad = write.refuseRecord(operation.branch, memory);
        if (bad !== undefined) return write.takeBack(bad);
        const place = write.append(operation.branch, memory);
        const lease = { fence: delivery.fence, envelope: "", leaseMs: operation.leaseMs };
        claimed.push({
          delivery: write.accept({ ...lease, delivery: delivery.id }, place),
          envelope,
        });
      }
      const nextDueMs = claimed.length < limit ? write.nextDue() : Number.POSITIVE_INFINITY;
      return { kind: "claimed", claimed, nextDueMs };
    });

  moveDeliveries: Store["moveDeliveries"] = (operation) =>
    this.#write(operation.workspace, (write) => {
      const { moves, memory, envelope, branch, entries = [] } = operation;
      for (const { delivery: id, seen } of moves) {
        const now = write.delivery(id);
        const asSeen =
          now?.state === seen.state &&
          now.fence === seen.fence &&
          now.envelope === seen.envelope &&
          now.leaseUntil === (seen.leaseUntil ?? now.leaseUntil) &&
          now.lapseAt === (seen.lapseAt ?? now.lapseAt) &&
          now.followers === (seen.followers ?? now.followers);
        if (!asSeen) return { kind: "changed", delivery: now };
      }
      for (const { receiver } of moves) {
        const refused = receiver === undefined ? undefined : write.refuseReceiver(receiver);
        if (refused !== undefined) return refused;
      }
      const missing = envelope?.parents.find((id) => write.envelope(id) === undefined);
      if (missing !== undefined) return { kind: "missing_parent", envelope: missing };
      const refused = memory && write.refuseRecord(operation.branch, memory);
      if (refused !== undefined) return refused;
      for (const entry of entries) {
        const now = write.entry(entry.kind, entry.name);
        if ((now?.revision ?? 0) !== entry.basedOn) return { kind: "entry_changed", entry: now };
      }
      if (envelope && write.envelope(envelope.id)) return { kind: "id_taken", id: envelope.id };
      const place = memory && write.append(branch, memory);
      if (envelope && place) write.addEnvelope(envelope, place);
      for (const entry of entries) write.putEntry(entry);
      return {
        kind: "moved",
        deliveries: moves.map((move) => write.move(operation, move, place)),
      };
    });

  acceptDelivery: Store["acceptDelivery"] = (operation) =>
    this.#write(operation.workspace, (write) => {
      const { lease, memory, branch } = operation;
      const lost = write.refuseLease(lease);
      if (lost !== undefined) return lost;
      const claimed = write.held(lease);
      if (claimed.state !== "claimed") return { kind: "lease_lost", delivery: claimed };
      const refused = write.refuseRecord(operation.branch, memory);
      if (refused !== undefined) return refused;
      const place = write.append(branch, memory);
      const delivery = write.accept(lease, place);
      return { kind: "accepted", place, delivery };
    });

  settleDelivery: Store["settleDelivery"] = (operation) =>
    this.#write(operation.workspace, (write) => {
      const { lease, memory, settlement, branch, reason } = operation;
      const lost = write.refuseLease(lease);
      if (lost !== undefined) return lost;
      const held = write.held(lease);
      if (!operation.from.includes(held.state)) return { kind: "lease_lost", delivery: held };
      const refused = memory && write.refuseRecord(operation.branch, memory);
      if (refused !== undefined) return refused;
      const place = memory && write.append(branch, memory);
      const delivery = write.finish(held, settlement, { place, reason });
      write.wake(delivery.sender);
      write.wake(delivery.receiver);
      return { kind: "settled", delivery };
    });

  renewLease: Store["renewLease"] = (workspace, lease) =>
    this.#write(workspace, (write) => {
      const lost = write.leaseLost(lease);
      if (lost !== undefined) return lost;
      return { kind: "renewed", delivery: write.renew(lease) };
    });

  renewSession: Store["renewSession"] = (session, leaseMs) =>
    this.#write(session.workspace, (write) => write.renewSession(session, leaseMs));

  listProcesses: Store["listProcesses"] = (workspace) =>
    this.#read(workspace, (all) => {
      const held = all.deliveries.filter((row) => isHeld(row.state) && row.process !== "");
      return [...new Set(held.map((row) => row.process))];
    });

  listDue: Store["listDue"] = ({ workspace, gone, limit }) =>
    this.#read(workspace, (all) => {
      const now = this.#clock.now();
      const lapsed = all.deliveries
        .filter((row) => isOpen(row.state) && row.lapseAt !== 0 && row.lapseAt <= now)
        .sort((a, b) => a.lapseAt - b.lapseAt || a.place - b.place);
      const silent = all.deliveries
        .filter((row) => isHeld(row.state) && row.leaseUntil <= now)
        .sort((a, b) => a.leaseUntil - b.leaseUntil || a.place - b.place);
      const orphaned = all.deliveries
        .filter((row) => isHeld(row.state) && row.process !== "" && gone.includes(row.process))
        .sort((a, b) => a.place - b.place);
      const due = [...new Set([...lapsed, ...silent, ...orphaned])].slice(0, limit);
      return {
        now,
        due: due.map((delivery) => ({ delivery, envelope: envelopeIn(all, delivery) })),
      };
    });

  findEntry: Store["findEntry"] = (workspace, kind, name) =>
    this.#read(workspace, (all) =>
      all.entries.find((entry) => entry.kind === kind && entry.name === name),
    );

  listEntries: Store["listEntries"] = ({ workspace, kind, prefix = "", after = "", limit }) =>
    this.#read(workspace, (all) =>
      all.entries
        .filter((entry) => entry.kind === kind)
        .filter(({ name }) => name.startsWith(prefix) && byCodePoint(name, after) > 0)
        .sort((a, b) => byCodePoint(a.name, b.name))
        .slice(0, limit),
    );

  findAgent: Store["findAgent"] = (workspace, name) =>
    this.#read(workspace, (all) =>
      all.agents.find((agent) => agent.id === name || agent.aliases.includes(name)),
    );

  listAgents: Store["listAgents"] = (workspace) =>
    this.#read(workspace, (all) => all.agents.toSorted((a, b) => (a.id < b.id ? -1 : 1)));

  readMemories: Store["readMemories"] = (workspace, ids) =>
    this.#read(workspace, (all) =>
      ids.flatMap((id) => all.memories.find((memory) => memory.id === id) ?? []),
    );

  recentMemories: Store["recentMemories"] = ({ workspace, sight, filter, limit, before }) =>
    this.#read(workspace, (all) => {
      const end = all.memories.findIndex((row) => row.id === before);
      return (before === undefined ? all.memories : all.memories.slice(0, Math.max(end, 0)))
        .filter((row) => passes(row, filter) && isSeen(row, sight))
        .reverse()
        .slice(0, limit);
    });

  findTips: Store["findTips"] = ({ workspace, branches, moment }) =>
    this.#read(workspace, (all) => {
      const there = asOf(all.memories, moment);
      return branches.map((branch) => {
        const last = there.findLast((row) => row.branch === branch);
        return { seq: last?.seq ?? 0, memory: last?.id ?? "" };
      });
    });

  findRelations: Store["findRelations"] = (operation) =>
    this.#read(operation.workspace, (all) => {
      const { direction, memory, sight, limit } = operation;
      const [here, there] =
        direction === "in" ? (["target", "source"] as const) : (["source", "target"] as const);
      const other = (edge: RelationEdge) =>
        all.memories.find((row) => row.id === edge[there]) as MemoryRow;
      return all.relations
        .filter((edge) => edge[here] === memory && holdsFor(edge, operation))
        .filter((edge) => isSeenBeyond(other(edge), direction, sight))
        .slice(0, limit);
    });

  findInbound: Store["findInbound"] = ({ workspace, memories, kinds, limit }) =>
    this.#read(workspace, (all) =>
      all.relations
        .filter((edge) => memories.includes(edge.target) && kinds.includes(edge.kind))
        .slice(0, limit),
    );

  search: Store["search"] = async (operation) => {
    const { workspace, meant } = operation;
    const { memories, relations, envelopes } = await this.#read(workspace, (all) => all);
    const vectors = meant && this.#models.vectors(workspace, meant.model);
    return search({ memories, relations, envelopes, vectors }, operation);
  };

  findUnembedded: Store["findUnembedded"] = (operation) =>
    this.#read(operation.workspace, (all) => this.#models.unembedded(all, operation));

  putVectors: Store["putVectors"] = (operation) =>
    this.#read(operation.workspace, (all) => this.#models.put(all, operation));

  listModels: Store["listModels"] = (workspace) =>
    this.#read(workspace, (all) => this.#models.list(workspace, all.memories.length));

  dropModel: Store["dropModel"] = (workspace, model) =>
    this.#read(workspace, () => this.#models.drop(workspace, model));

  findDelivery: Store["findDelivery"] = (workspace, id) =>
    this.#read(workspace, (all) => {
      const delivery = all.deliveries.find((row) => row.id === id);
      return delivery && { delivery, envelope: envelopeIn(all, delivery) };
    });

  listDeliveries: Store["listDeliveries"] = (operation) =>
    this.#read(operation.workspace, (all) => {
      const { receivers, states, task, limit, after } = operation;
      return all.deliveries
        .filter((row) => receivers.includes(row.receiver) && isAfter(row, after))
        .filter((row) => isOpen(row.state) && states.includes(row.state))
        .filter((row) => task === undefined || row.task === task)
        .sort(inPlace)
        .slice(0, limit)
        .map((delivery) => ({ delivery, envelope: envelopeIn(all, delivery) }));
    });

  listParked: Store["listParked"] = (operation) =>
    this.#read(operation.workspace, (all) => {
      const { state, sender, receiver, task, limit, after } = operation;
      return all.deliveries
        .filter((row) => row.state === state && isAfter(row, after))
        .filter((row) => sender === undefined || row.sender === sender)
        .filter((row) => receiver === undefined || row.receiver === receiver)
        .filter((row) => task === undefined || row.task === task)
        .sort(inPlace)
        .slice(0, limit)
        .map((delivery) => ({ delivery, envelope: envelopeIn(all, delivery) }));
    });

  browseDeliveries: Store["browseDeliveries"] = (operation) =>
    this.#read(operation.workspace, (all) => {
      const { before, limit, visits } = operation;
      const left = all.deliveries
        .filter(({ id }) => before === undefined || id < before)
        .sort((a, b) => (a.id < b.id ? 1 : -1));
      const found = left
        .slice(0, visits)
        .filter((row) => isBrowsed(row, operation))
        .slice(0, limit);
      const rows = found.map((delivery) => ({ delivery, envelope: envelopeIn(all, delivery) }));
      const last = found.length === limit ? found.at(-1) : left[visits - 1];
      return last === undefined || last === left.at(-1) ? { rows } : { rows, next: last.id };
    });

  countOpen: Store["countOpen"] = (workspace, receiver, most) =>
    this.#read(workspace, (all) => {
      const open = all.deliveries.filter((row) => row.receiver === receiver && isOpen(row.state));
      return Math.min(most, open.length);
    });

  findEnvelope: Store["findEnvelope"] = (workspace, id) =>
    this.#read(workspace, (all) => {
      const envelope = all.envelopes.find((row) => row.id === id);
      const deliveries = all.deliveries.filter((row) => row.envelope === id);
      return envelope && { envelope, deliveries };
    });

  readLine: Store["readLine"] = (workspace, task, newest = Number.POSITIVE_INFINITY) =>
    this.#read(workspace, (all) =>
      all.envelopes
        .filter((envelope) => envelope.task === task)
        .slice(-newest)
        .map((envelope) => ({
          envelope,
          deliveries: all.deliveries.filter((row) => row.envelope === envelope.id),
        })),
    );

  readAttempts: Store["readAttempts"] = (workspace, delivery) =>
    this.#read(workspace, (all) => all.attempts.filter((attempt) => attempt.delivery === delivery));

  readEvents: Store["readEvents"] = (workspace, after, limit) =>
    this.#read(workspace, (all) =>
      all.events.filter((event) => event.number > after).slice(0, limit),
    );

  listTraces: Store["listTraces"] = ({ workspace, after = "", limit }) =>
    this.#read(workspace, (all) =>
      tracesIn(all.memories, headsOf(all, workspace))
        .filter(({ branch }) => byCodePoint(branch, after) > 0)
        .sort((a, b) => byCodePoint(a.branch, b.branch))
        .slice(0, limit),
    );

  surveyTrace: Store["surveyTrace"] = (operation) =>
    this.#read(operation.workspace, (all) => {
      const { rows, heldBy } = prunableSteps(all, operation);
      return { records: rows.length, bytes: bytesOf(rows), heldBy };
    });

  pruneTrace: Store["pruneTrace"] = (operation) =>
    this.#write(operation.workspace, (write) => write.prune(operation));

  surveyEvents: Store["surveyEvents"] = (operation) =>
    this.#read(operation.workspace, ({ events }) => {
      const going = prunableEvents(events, operation);
      return { upTo: going.at(-1)?.number ?? 0, events: going.length };
    });

  pruneEvents: Store["pruneEvents"] = (workspace, upTo, limit) =>
    this.#write(workspace, (write) => write.pruneEvents(upTo, limit));

  redactBodies: Store["redactBodies"] = (operation) =>
    this.#write(operation.workspace, (write) => {
      const { memory, branch } = operation;
      const refused = write.refuseRecord(branch, memory);
      if (refused !== undefined) return refused;
      const changed = eraseIn(write.shelf, operation, write.now);
      if (changed !== undefined) return write.takeBack({ kind: "changed", erasure: changed });
      const gone = operation.erasures.flatMap((each) => {
        if (each.kind === "memory") return each.id;
        if (each.kind !== "envelope") return [];
        return write.shelf.envelopes.find(({ id }) => id === each.id)?.memory ?? [];
      });
      this.#models.forget(operation.workspace, gone);
      return { kind: "redacted", place: write.append(branch, memory) };
    });

  seekText: Store["seekText"] = (operation) =>
    this.#read(operation.workspace, (all) => seekIn(all, operation));

  /** Nothing is kept anywhere else. */
  scrub: Store["scrub"] = async () => {
    this.#refuseClosed();
    return { beyond: [] };
  };

  countDeliveries: Store["countDeliveries"] = (workspace) =>
    this.#read(workspace, (all): Books => {
      const count = (state: DeliveryState) =>
        all.deliveries.filter((row) => row.state === state).length;
      return {
        envelopes: all.envelopes.length,
        deliveries: all.deliveries.length,
        byState: Object.fromEntries(
          DELIVERY_STATES.map((state) => [state, count(state)]),
        ) as Books["byState"],
      };
    });

  verify: Store["verify"] = async (workspace, onProgress) => {
    const all = await this.#read(workspace, (shelf) => shelf);
    return verifyWorkspace(
      {
        workspace,
        totals: {
          memories: all.memories.length,
          relations: all.relations.length,
          envelopes: all.envelopes.length,
          deliveries: all.deliveries.length,
        },
        agents: () => all.agents,
        names: () =>
          all.agents.flatMap((agent) =>
            [agent.id, ...agent.aliases].map((name) => ({ name, agent: agent.id })),
          ),
        heads: () => headsOf(all, workspace),
        memories: (branch) => all.memories.filter((row) => row.branch === branch),
        memory: (id) => all.memories.find((row) => row.id === id),
        relations: (source) => all.relations.filter((edge) => edge.source === source),
        envelopes: () => all.envelopes,
        envelope: (id) => all.envelopes.find((row) => row.id === id),
        deliveries: () => all.deliveries,
        delivery: (id) => all.deliveries.find((row) => row.id === id),
        attempts: (delivery) => all.attempts.filter((row) => row.delivery === delivery),
        entries: () => all.entries,
      },
      onProgress,
    );
  };

  query: Store["query"] = async (query) => {
    const { workspace, vectors } = query;
    const kept = this.#models.vectors(workspace, vectors.model);
    const model = kept && { name: vectors.model, vectors: kept };
    const tables = await this.#read(workspace, (all) => tablesOf(all, model));
    return this.#processes.ask({ source: { kind: "tables", tables, workspace: 1 }, query });
  };

  indexState: Store["indexState"] = async () => {
    this.#refuseClosed();
    const records = this.#shelf.memories.length + this.#shelf.gone.memories;
    return { records, indexed: records };
  };

  async *exportWorkspace(workspace: string): AsyncGenerator<Exported, void, undefined> {
    const all = await this.#read(workspace, (shelf) => shelf);
    for (const row of exportLists(all, headsOf(all, workspace))) {
      this.#refuseClosed();
      yield row;
    }
  }

  importWorkspace: Store["importWorkspace"] = async (workspace, archive, onProgress) => {
    const before = await this.#occupied(workspace, archive);
    if (before !== undefined) return before;
    const rows: ArchivedRow[] = [];
    for await (const row of archive.rows) rows.push(row);
    const { lists, problem } = listsOf(rows);
    if (problem !== undefined) return { kind: "unsound", problems: [problem] };
    // In a store of its own, which nobody sees.
    const scratch = new ReferenceStore(this.#clock);
    scratch.#shelf = shelved(scratch.#shelf, workspace, { lists, archive });
    const { heads } = await scratch.#read(workspace, (all) => ({ heads: headsOf(all, workspace) }));
    const lost = unequal(summaryOf(lists, heads), archive.summary);
    if (lost !== undefined) return { kind: "unsound", problems: [lost] };
    const report = await scratch.verify(workspace, ({ checked: done, total }) =>
      onProgress?.({ phase: "verifying", done, total }),
    );
    if (report.problems.length > 0) return { kind: "unsound", problems: report.problems };
    const meanwhile = await this.#occupied(workspace, archive);
    if (meanwhile !== undefined) return meanwhile;
    const last = this.#shelf.events.at(-1)?.number ?? 0;
    this.#shelf = shelved(this.#shelf, workspace, { lists, archive });
    const eventsMovedBy = Math.max(0, last + 1 - (lists.events[0]?.number ?? last + 1));
    return { kind: "imported", report, eventsMovedBy };
  };

  #occupied(workspace: string, archive: Archive): Promise<ImportOutcome | undefined> {
    return this.#read(workspace, (all) => {
      const heads = headsOf(all, workspace);
      const holds = totalOf(summaryOf(all, heads).counts) > 0;
      return holds ? occupied(all, heads, archive) : undefined;
    });
  }

  backup: Store["backup"] = async () => {
    this.#refuseClosed();
    return { kind: "no_file" };
  };

  onWake: Store["onWake"] = (whom, listener) => this.#bell.listen(whom, listener);

  async close(): Promise<void> {
    if (!this.#closed) this.#bell.ringAll();
    this.#processes.close();
    this.#closed = true;
  }

  async #write<Outcome>(workspace: string, run: (write: Write) => Outcome): Promise<Outcome> {
    this.#refuseClosed();
    const write = new Write(workspace, this.#clock.now(), copy(this.#shelf));
    const outcome = run(write);
    if (!write.takenBack) this.#shelf = write.shelf;
    // As with a real store, nobody is woken before the write was acknowledged.
    queueMicrotask(() => this.#bell.ring([...write.woken].map((agent) => ({ workspace, agent }))));
    return outcome;
  }

  /** Shows only one workspace. */
  async #read<T>(workspace: string, run: (all: Shelf) => T): Promise<T> {
    this.#refuseClosed();
    return run(rowsOf(this.#shelf, workspace));
  }

  #refuseClosed(): void {
    if (this.#closed) throw storeClosed();
  }
}

const LISTS = [
  "agents",
  "memories",
  "relations",
  "envelopes",
  "deliveries",
  "attempts",
  "events",
  "entries",
  "heads",
] as const satisfies readonly (keyof Shelf)[];

/**
 * The rows of one workspace, without the column that names it. A list is copied when it is first read: most
 * reads need one of the nine, and copying all of them made reading a large store ten times as slow.
 */
function rowsOf(shelf: Shelf, workspace: string): Shelf {
  const rows = { gone: shelf.gone } as Shelf;
  for (const name of LISTS) {
    Object.defineProperty(rows, name, {
      configurable: true,
      enumerable: true,
      get: () => {
        const list: readonly { workspace: string }[] = shelf[name];
        const value = list
          .filter((row) => row.workspace === workspace)
          .map(({ workspace: _, ...row }) => row);
        Object.defineProperty(rows, name, { value });
        return value;
      },
    });
  }
  return rows;
}

const copy = (shelf: Shelf): Shelf => ({
  agents: [...shelf.agents],
  memories: [...shelf.memories],
  relations: [...shelf.relations],
  envelopes: [...shelf.envelopes],
  deliveries: [...shelf.deliveries],
  attempts: [...shelf.attempts],
  events: [...shelf.events],
  entries: [...shelf.entries],
  heads: [...shelf.heads],
  gone: shelf.gone,
});

/** With the rows of another workspace. Numbers only rise: what has gone makes up for what is missing. */
function shelved(
  shelf: Shelf,
  workspace: string,
  { lists, archive }: { lists: Lists; archive: Archive },
): Shelf {
  const own = <Row>(rows: readonly Row[]): In<Row>[] => rows.map((row) => ({ ...row, workspace }));
  const last = shelf.events.at(-1)?.number ?? 0;
  const movedBy = Math.max(0, last + 1 - (lists.events[0]?.number ?? last + 1));
  const moved = lists.events.map((row) => ({ ...row, number: row.number + movedBy }));
  const memories = [...shelf.memories, ...own(lists.memories)];
  const events = [...shelf.events, ...own(moved)];
  const pruned = archive.summary.heads.filter(
    ({ branch }) => !lists.memories.some((row) => row.branch === branch),
  );
  return {
    agents: [...shelf.agents, ...own(lists.agents)],
    memories,
    relations: [...shelf.relations, ...own(lists.relations)],
    envelopes: [...shelf.envelopes, ...own(lists.envelopes)],
    deliveries: [...shelf.deliveries, ...own(lists.deliveries)],
    attempts: [...shelf.attempts, ...own(lists.attempts)],
    events,
    entries: [...shelf.entries, ...own(lists.entries)],
    heads: [...shelf.heads, ...own(pruned)],
    gone: {
      memories: Math.max(shelf.gone.memories, archive.summary.lastPlace - memories.length),
      events: Math.max(shelf.gone.events, (events.at(-1)?.number ?? 0) - events.length),
    },
  };
}

function envelopeIn(shelf: Shelf, delivery: DeliveryRow): EnvelopeRow {
  return shelf.envelopes.find((row) => row.id === delivery.envelope) as EnvelopeRow;
}

/** The order of UTF-8, in which databases sort: not that of JavaScript, beyond the basic plane. */
const byCodePoint = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The order of an inbox. */
function inPlace(a: DeliveryRow, b: DeliveryRow): number {
  return a.place - b.place || (a.id < b.id ? -1 : 1);
}

const isAfter = (row: DeliveryRow, cursor: InboxCursor | undefined): boolean =>
  cursor === undefined ||
  row.place > cursor.place ||
  (row.place === cursor.place && row.id > cursor.id);

const isBrowsed = (row: DeliveryRow, wanted: BrowseDeliveries): boolean =>
  (wanted.states === undefined || wanted.states.includes(row.state)) &&
  (wanted.sender === undefined || row.sender === wanted.sender) &&
  (wanted.receiver === undefined || row.receiver === wanted.receiver) &&
  (wanted.task === undefined || row.task === wanted.task) &&
  (wanted.sentAfter === undefined || row.sentAt >= wanted.sentAfter) &&
  (wanted.sentBefore === undefined || row.sentAt < wanted.sentBefore);

function headOf(
  { memories, heads }: Pick<Shelf, "memories" | "heads">,
  { workspace, branch }: { workspace: string; branch: string },
): Head {
  const isOwn = (row: In<{ branch: string }>) => row.branch === branch;
  const { seq, storedAt, link } = memories.findLast(isOwn) ??
    heads.find(isOwn) ?? { seq: 0, storedAt: 0, link: genesis(workspace, branch) };
  return { branch, seq, storedAt, link };
}

const bytesOf = (rows: readonly MemoryRow[]): number =>
  rows.reduce((sum, row) => sum + Buffer.byteLength(row.text), 0);

/** Every chain there is, in the order of their first records. */
function headsOf(shelf: Pick<Shelf, "memories" | "heads">, workspace: string): Head[] {
  const branches = [...shelf.heads, ...shelf.memories].map((row) => row.branch);
  return [...new Set(branches)].map((branch) => headOf(shelf, { workspace, branch }));
}

/** The records that were there at a moment. Of none that is there, nothing was. */
function asOf(memories: readonly MemoryRow[], moment: Moment | undefined): readonly MemoryRow[] {
  switch (moment?.kind) {
    case undefined:
      return memories;
    case "time":
      return memories.filter((row) => row.storedAt <= moment.at);
    case "memory":
      return memories.slice(0, memories.findIndex((row) => row.id === moment.id) + 1);
  }
}

/** One operation's view of the lists, and the small steps operations are made of. */
class Write {
  readonly workspace: string;
  readonly now: number;
  readonly shelf: Shelf;
  readonly woken = new Set<string>();
  takenBack = false;

  constructor(workspace: string, now: number, shelf: Shelf) {
    this.workspace = workspace;
    this.now = now;
    this.shelf = shelf;
  }

  /** The operation refuses after it has written: nothing of it is kept. */
  takeBack<Outcome>(outcome: Outcome): Outcome {
    this.takenBack = true;
    return outcome;
  }

  wake(agent: string): void {
    this.woken.add(agent);
  }

  #own<Row extends { workspace: string }>(rows: readonly Row[]): Row[] {
    return rows.filter((row) => row.workspace === this.workspace);
  }

  #chains(): Pick<Shelf, "memories" | "heads"> {
    const { memories, heads } = this.shelf;
    return { memories: this.#own(memories), heads: this.#own(heads) };
  }

  prune(operation: PruneTrace): PrunedTrace {
    const { workspace, shelf } = this;
    const own = { memories: this.#own(shelf.memories), relations: this.#own(shelf.relations) };
    const newest = shelf.memories.at(-1);
    const kept = newest?.workspace === workspace ? newest.id : undefined;
    const { rows, heldBy } = nextSteps(own, operation, kept);
    if (rows.length > 0) this.#drop(operation.branch, rows);
    return { records: rows.length, bytes: bytesOf(rows), heldBy };
  }

  #drop(branch: string, rows: readonly MemoryRow[]): void {
    const { workspace, shelf } = this;
    const head = headOf(this.#chains(), { workspace, branch });
    const ids = new Set(rows.map((row) => row.id));
    const isOwn = (row: { workspace: string }) => row.workspace === workspace;
    shelf.memories = shelf.memories.filter((row) => !isOwn(row) || !ids.has(row.id));
    shelf.relations = shelf.relations.filter((edge) => !isOwn(edge) || !ids.has(edge.source));
    shelf.heads = shelf.heads.filter((row) => !isOwn(row) || row.branch !== branch);
    shelf.heads.push({ ...head, workspace });
    shelf.gone = { ...shelf.gone, memories: shelf.gone.memories + rows.length };
  }

  pruneEvents(upTo: number, limit: number): number {
    const own = this.#own(this.shelf.events).slice(0, -1);
    const going = new Set(own.filter((event) => event.number <= upTo).slice(0, limit));
    this.shelf.events = this.shelf.events.filter((event) => !going.has(event));
    this.shelf.gone = { ...this.shelf.gone, events: this.shelf.gone.events + going.size };
    return going.size;
  }

  agent(id: string): AgentRow | undefined {
    return this.#own(this.shelf.agents).find((agent) => agent.id === id);
  }

  agentNamed(name: string): AgentRow | undefined {
    return this.#own(this.shelf.agents).find(
      (agent) => agent.id === name || agent.aliases.includes(name),
    );
  }

  putAgent(agent: AgentRow): void {
    const { workspace } = this;
    this.shelf.agents = this.shelf.agents.filter(
      (row) => row.workspace !== workspace || row.id !== agent.id,
    );
    this.shelf.agents.push({ ...agent, workspace });
  }

  /** Not before any record, also when the clock went back: those were written without the key. */
  keyTime(): number {
    const stored = headsOf(this.#chains(), this.workspace).map((head) => head.storedAt);
    return stored.reduce((newest, at) => Math.max(newest, at), this.now);
  }

  refuseAuthor(author: { agent: string; publicKey: string }): RecordRefusal | undefined {
    const known = this.agent(author.agent);
    if (known === undefined) return { kind: "unknown_agent", agent: author.agent };
    if (known.status === "disabled") return { kind: "agent_disabled", agent: author.agent };
    if (known.publicKey !== author.publicKey) return { kind: "key_changed", agent: author.agent };
    return undefined;
  }

  refuseRecord(branch: string, memory: NewMemory): RecordRefusal | undefined {
    const refused = this.refuseAuthor(memory);
    if (refused !== undefined) return refused;
    for (const reference of memory.mentions) {
      if (!this.#own(this.shelf.memories).some((row) => row.id === reference)) {
        return { kind: "missing_reference", memory: memory.id, reference };
      }
    }
    const taken = this.#own(this.shelf.memories).some((row) => row.id === memory.id);
    if (taken) return { kind: "id_taken", id: memory.id };
    const closed = branch !== TRUNK && this.entry(CLOSED, branch) !== undefined;
    return closed ? { kind: "branch_closed", branch } : undefined;
  }

  tip(branch: string): number {
    const { workspace } = this;
    return headOf(this.#chains(), { workspace, branch }).seq;
  }

  append(branch: string, memory: NewMemory): Place {
    const { workspace } = this;
    const head = headOf(this.#chains(), { workspace, branch });
    const seq = head.seq + 1;
    const storedAt = Math.max(this.now, head.storedAt);
    const link = nextLink(head.link, { seq, storedAt, digest: memory.digest });
    const { id, text, signature } = memory;
    this.shelf.memories.push({ id, branch, seq, storedAt, text, signature, link, workspace });
    for (const edge of memory.relations) {
      this.shelf.relations.push({ ...edge, source: id, workspace });
    }
    return { id, seq, storedAt, link };
  }

  envelope(id: string): EnvelopeRow | undefined {
    return this.#own(this.shelf.envelopes).find((row) => row.id === id);
  }

  envelopeOf(delivery: DeliveryRow): EnvelopeRow {
    const { workspace: _, ...row } = this.envelope(delivery.envelope) as In<EnvelopeRow>;
    return row;
  }

  addEnvelope(envelope: NewEnvelope, place: Place): void {
    const { parents: _, ...row } = envelope;
    const { workspace } = this;
    this.shelf.envelopes.push({ ...row, memory: place.id, storedAt: place.storedAt, workspace });
  }

  takenId({ envelope, deliveries }: SendHandoff): string | undefined {
    const taken = deliveries.find(({ id }) => this.delivery(id) !== undefined);
    return this.envelope(envelope.id)?.id ?? taken?.id;
  }

  /** Who can take it: the agent, or somebody who has the role. */
  refuseReceiver(receiver: string): ReceiverRefusal | undefined {
    const able = this.#own(this.shelf.agents).filter(
      (agent) => agent.id === receiver || (agent.role !== "" && roleInbox(agent.role) === receiver),
    );
    if (able.length === 0) return { kind: "unknown_receiver", receiver };
    if (able.every((agent) => agent.status === "disabled")) {
      return { kind: "receiver_disabled", receiver };
    }
    return undefined;
  }

  entry(kind: string, name: string): EntryRow | undefined {
    const found = this.#own(this.shelf.entries).find(
      (entry) => entry.kind === kind && entry.name === name,
    );
    if (found === undefined) return undefined;
    const { workspace: _, ...row } = found;
    return row;
  }

  putEntry({ kind, name, value, basedOn }: PutEntry): EntryRow | undefined {
    const { workspace } = this;
    this.shelf.entries = this.shelf.entries.filter(
      (row) => row.workspace !== workspace || row.kind !== kind || row.name !== name,
    );
    if (value === undefined) return undefined;
    const entry = { kind, name, value, revision: basedOn + 1 };
    const stored = { ...entry, at: this.now, digest: entryDigest(entry) };
    this.shelf.entries.push({ ...stored, workspace });
    return stored;
  }

  delivery(id: string): DeliveryRow | undefined {
    const found = this.#own(this.shelf.deliveries).find((row) => row.id === id);
    if (found === undefined) return undefined;
    const { workspace: _, ...row } = found;
    return row;
  }

  #change(delivery: DeliveryRow, change: Partial<DeliveryRow>): DeliveryRow {
    const { workspace } = this;
    const changed = { ...delivery, ...change };
    this.shelf.deliveries = this.shelf.deliveries.map((row) =>
      row.workspace === workspace && row.id === delivery.id ? { ...changed, workspace } : row,
    );
    return changed;
  }

  /** What is open of a receiver and task, in the order it can be claimed. */
  #queue({ receiver, task }: Pick<DeliveryRow, "receiver" | "task">): DeliveryRow[] {
    return this.#own(this.shelf.deliveries)
      .filter((row) => isOpen(row.state) && row.receiver === receiver && row.task === task)
      .sort((a, b) => a.place - b.place)
      .map((row) => this.delivery(row.id) as DeliveryRow);
  }

  /** A delivery has ended: the next of its receiver and task can be claimed now. */
  #passTurn(ended: DeliveryRow): void {
    const [next] = this.#queue(ended);
    if (next === undefined || next.inTurn) return;
    this.#change(next, { inTurn: true });
    this.wake(next.receiver);
  }

  record(kind: EventKind, agent: string, delivery: DeliveryRow): void {
    const { task, id, envelope, attempt } = delivery;
    this.recordOf(kind, agent, { task, delivery: id, envelope, attempt });
  }

  recordOf(
    kind: EventKind,
    agent: string,
    of = { task: "", delivery: "", envelope: "", attempt: 0 },
  ): void {
    const number = this.shelf.events.length + this.shelf.gone.events + 1;
    const { now: at, workspace } = this;
    this.shelf.events.push({
      number,
      at,
      kind,
      agent,
      ...of,
      workspace,
    });
  }

  sameWork(
    { envelope, parent, settles }: SendHandoff,
    delivery: NewDelivery,
  ): DeliveryRow | undefined {
    const found = this.#own(this.shelf.deliveries)
      .filter((row) => row.id !== settles?.delivery) // What ends here is not open any more.
      .filter((row) => isOpen(row.state) && row.task === envelope.task)
      .filter((row) => row.receiver === delivery.receiver && row.sender === envelope.sender)
      .sort(inPlace) // There can be two, after one was sent on to this receiver.
      .find((row) => row.parent === parent);
    return found && this.delivery(found.id);
  }

  deliver(
    operation: SendHandoff,
    { open, at }: { open: DeliveryRow | undefined; at: number },
  ): { deliveries: DeliveryRow[]; superseded: string } {
    const { agent } = operation.memory;
    if (open !== undefined && operation.extend?.held) {
      const held = this.delivery(open.id) as DeliveryRow;
      const { deadline = 0, lapseMs = 0 } = operation.deliveries[0] ?? {};
      // What the newest envelope says counts; what is accepted has only a deadline.
      const soon = held.state === "claimed" && lapseMs > 0 ? this.now + lapseMs : 0;
      const delivery = this.#change(held, {
        envelope: operation.envelope.id,
        deadline,
        lapseAt: soonest(deadline, soon),
      });
      this.record("extended", agent, delivery);
      this.wake(delivery.holder);
      return { deliveries: [delivery], superseded: "" };
    }
    if (open !== undefined) {
      const replaced = this.delivery(open.id) as DeliveryRow;
      this.#change(replaced, { state: "superseded", settledAt: at, lapseAt: 0 });
      this.record("superseded", agent, replaced);
    }
    const deliveries = operation.deliveries.map((delivery) => {
      const added = this.#addDelivery(operation, delivery, { place: open?.place, at });
      const dead = added.state === "dead";
      if (dead) this.#endAttempt(added, { outcome: "stopped", reason: delivery.reason }, at);
      this.record(dead ? "dead" : "sent", agent, added);
      this.wake(added.receiver);
      return added;
    });
    // What was parked at once takes nobody's turn.
    if (open !== undefined) this.#passTurn(open);
    return { deliveries, superseded: open?.id ?? "" };
  }

  #addDelivery(
    { envelope, parent }: SendHandoff,
    delivery: NewDelivery,
    { place, at }: { place: number | undefined; at: number },
  ): DeliveryRow {
    const { receiver, state, delayMs, lapseMs, deadline } = delivery;
    const dead = state === "dead";
    const queue = this.#queue({ receiver, task: envelope.task });
    const chosen = place ?? this.#placeBehind(queue, delivery.ahead);
    const row: DeliveryRow = {
      id: delivery.id,
      envelope: envelope.id,
      task: envelope.task,
      sender: envelope.sender,
      receiver,
      parent,
      state,
      place: chosen,
      inTurn: dead || queue.every((row) => row.place > chosen),
      attempt: dead ? 1 : 0,
      maxAttempts: delivery.maxAttempts,
      fence: dead ? 1 : 0,
      leaseUntil: 0,
      holdUntil: 0,
      readyAt: state === "scheduled" ? this.now + delayMs : 0,
      deadline,
      lapseAt: dead ? 0 : soonest(deadline, lapseMs === 0 ? 0 : this.now + lapseMs),
      sentAt: at,
      seenAt: 0,
      acceptedAt: 0,
      settledAt: dead ? at : 0,
      holder: "",
      instance: "",
      process: "",
      acceptedBy: "",
      settledBy: "",
      followers: "",
    };
    this.shelf.deliveries.push({ ...row, workspace: this.workspace });
    return row;
  }

  /** The last in line, or ahead of others; but behind what is open of its task, in any case. */
  #placeBehind(queue: readonly DeliveryRow[], ahead: number): number {
    const newest = this.shelf.memories.length + this.shelf.gone.memories;
    const last = queue.at(-1);
    return last === undefined ? newest - ahead : Math.max(newest, last.place + 1);
  }

  leaseLost(lease: Lease): LeaseLost | undefined {
    const delivery = this.delivery(lease.delivery);
    const good =
      delivery !== undefined &&
      isHeld(delivery.state) &&
      delivery.fence === lease.fence &&
      delivery.leaseUntil > this.now;
    return good ? undefined : { kind: "lease_lost", delivery };
  }

  /** Also refused when the holder does not know the newest envelope. */
  refuseLease(lease: Lease): LeaseRefusal | undefined {
    const lost = this.leaseLost(lease);
    if (lost !== undefined) return lost;
    const held = this.held(lease);
    if (held.envelope === lease.envelope) return undefined;
    return { kind: "extended", envelope: this.envelopeOf(held) };
  }

  held(lease: Lease): DeliveryRow {
    return this.delivery(lease.delivery) as DeliveryRow;
  }

  renew(lease: Lease): DeliveryRow {
    const held = this.held(lease);
    return this.#change(held, { leaseUntil: Math.min(this.now + lease.leaseMs, held.holdUntil) });
  }

  renewSession({ agent, instance }: Session, leaseMs: number): void {
    const own = this.#own(this.shelf.deliveries)
      .filter((row) => isHeld(row.state) && row.leaseUntil > this.now)
      .filter((row) => row.holder === agent && row.instance === instance && row.process === "");
    for (const { id } of own) {
      const held = this.delivery(id) as DeliveryRow;
      this.#change(held, { leaseUntil: Math.min(this.now + leaseMs, held.holdUntil) });
    }
  }

  claimable({ receiver, delivery, task, limit }: ClaimDeliveries): DeliveryRow[] {
    const agent = this.agent(receiver) as AgentRow;
    if (agent.status === "paused") return [];
    const inboxes = [receiver, ...(agent.role === "" ? [] : [roleInbox(agent.role)])];
    return this.#own(this.shelf.deliveries)
      .filter((row) => inboxes.includes(row.receiver) && row.state === "ready" && row.inTurn)
      .filter((row) => row.deadline === 0 || row.deadline > this.now)
      .filter((row) => delivery === undefined || row.id === delivery)
      .filter((row) => task === undefined || row.task === task)
      .sort(inPlace)
      .slice(0, delivery === undefined ? limit : 1)
      .map((row) => this.delivery(row.id) as DeliveryRow);
  }

  claim(delivery: DeliveryRow, operation: ClaimDeliveries): DeliveryRow {
    const { receiver, instance, process, leaseMs, holdMs } = operation;
    return this.#change(delivery, {
      state: "claimed",
      attempt: delivery.attempt + 1,
      fence: delivery.fence + 1,
      leaseUntil: this.now + Math.min(leaseMs, holdMs),
      holdUntil: this.now + holdMs,
      seenAt: delivery.seenAt || this.now,
      holder: receiver,
      instance,
      process,
    });
  }

  accept(lease: Lease, place: Place): DeliveryRow {
    const held = this.held(lease);
    const delivery = this.#change(held, {
      state: "accepted",
      leaseUntil: Math.min(this.now + lease.leaseMs, held.holdUntil),
      lapseAt: held.deadline,
      acceptedAt: place.storedAt,
      acceptedBy: place.id,
    });
    this.record("accepted", delivery.holder, delivery);
    this.wake(delivery.sender);
    return delivery;
  }

  finish(
    held: DeliveryRow,
    settlement: Settlement,
    end: { place: Place | undefined; reason: string },
  ): DeliveryRow {
    const state = stateAfter(settlement);
    const open = isOpen(state);
    const lapseMs = lapseAfter(settlement);
    const delayMs = delayAfter(settlement);
    const delivery = this.#change(held, {
      state,
      leaseUntil: 0,
      holdUntil: 0,
      maxAttempts: held.maxAttempts + (isFree(settlement) ? 1 : 0),
      readyAt: delayMs === undefined ? 0 : this.now + delayMs,
      lapseAt: open ? soonest(held.deadline, lapseMs === 0 ? 0 : this.now + lapseMs) : 0,
      settledAt: open ? 0 : (end.place?.storedAt ?? this.now),
      settledBy: end.place?.id ?? "",
    });
    if (settlement.kind === "completed") this.#closeBreaker(held.receiver);
    else this.#endAttempt(held, { ...end, outcome: settlement.kind }, end.place?.storedAt);
    this.record(state === "dead" ? "dead" : settlement.kind, held.holder, delivery);
    if (!open) this.#passTurn(delivery);
    return delivery;
  }

  #closeBreaker(receiver: string): void {
    const entry = this.entry(BREAKER, receiver);
    if (entry) this.putEntry({ ...entry, value: undefined, basedOn: entry.revision });
  }

  #endAttempt(
    tried: DeliveryRow,
    end: { outcome: AttemptRow["outcome"]; reason: string },
    at = this.now,
  ): void {
    const { id: delivery, attempt } = tried;
    const held = isHeld(tried.state);
    this.shelf.attempts.push({
      delivery,
      attempt,
      holder: held ? tried.holder : "",
      instance: held ? tried.instance : "",
      endedAt: at,
      outcome: end.outcome,
      reason: end.reason,
      workspace: this.workspace,
    });
  }

  move({ agent, envelope }: MoveDeliveries, move: Move, place: Place | undefined): DeliveryRow {
    const before = this.delivery(move.delivery) as DeliveryRow;
    const { to, ends } = move;
    const named = {
      maxAttempts: move.maxAttempts ?? before.maxAttempts,
      deadline: move.deadline ?? before.deadline,
      followers: move.followers ?? before.followers,
      envelope: envelope?.id ?? before.envelope,
    };
    const open = isOpen(to);
    const lapseAt = soonest(named.deadline, move.lapseMs ? this.now + move.lapseMs : 0);
    const stays = to === before.state && move.receiver === undefined;
    const readyAt = to === "scheduled" ? this.now + (move.delayMs ?? 0) : 0;
    // A try that nobody claimed counts all the same.
    const tries = ends !== undefined && !isHeld(before.state) ? 1 : 0;
    const tried = { ...before, attempt: before.attempt + tries, fence: before.fence + tries };
    if (ends !== undefined) this.#endAttempt(tried, ends, place?.storedAt);
    const moved = this.#change(tried, {
      ...named,
      ...(move.lapseMs === undefined && stays ? {} : { lapseAt: open ? lapseAt : 0 }),
      ...(stays
        ? move.delayMs !== undefined && { readyAt }
        : {
            state: to,
            receiver: move.receiver ?? before.receiver,
            leaseUntil: 0,
            holdUntil: 0,
            readyAt,
            settledAt: open ? 0 : (place?.storedAt ?? this.now),
            settledBy: place?.id ?? "",
          }),
    });
    this.record(move.event, agent, moved);
    for (const concerned of [moved.sender, moved.receiver]) this.wake(concerned);
    if (isHeld(before.state)) this.wake(before.holder);
    return stays ? moved : this.#line(before, moved);
  }

  /** Its place in line after a move: the last where it is new, and whoever was behind it is next. */
  #line(before: DeliveryRow, moved: DeliveryRow): DeliveryRow {
    const joins = moved.receiver !== before.receiver || !isOpen(before.state);
    let row = moved;
    if (isOpen(moved.state) && joins) {
      const queue = this.#queue(moved).filter((each) => each.id !== moved.id);
      const place = this.#placeBehind(queue, 0);
      row = this.#change(moved, { place, inTurn: queue.length === 0 });
    }
    const left = isOpen(before.state) && (joins || !isOpen(moved.state));
    if (left) this.#passTurn(before);
    return row;
  }

  /** Retries whose time has come. */
  mature(): void {
    for (const row of this.#own(this.shelf.deliveries)) {
      if (row.state !== "scheduled" || row.readyAt > this.now) continue;
      this.#change(this.delivery(row.id) as DeliveryRow, { state: "ready" });
    }
  }

  /** In how many milliseconds something falls due: 0 when it has, Infinity when nothing will. */
  nextDue(): number {
    const due = this.#own(this.shelf.deliveries)
      .filter((row) => isOpen(row.state))
      .flatMap((row) => [
        ...(row.state === "scheduled" ? [row.readyAt] : []),
        ...(isHeld(row.state) ? [row.leaseUntil] : []),
        ...(row.lapseAt === 0 ? [] : [row.lapseAt]),
      ]);
    return Math.max(0, Math.min(...due) - this.now);
  }
}

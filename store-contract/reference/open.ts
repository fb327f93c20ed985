/**
 * The reference store, which keeps everything in arrays. The model-based tests compare the other
 * stores with it, so it is written to be obviously correct, not fast: there are no indexes, every
 * lookup is a linear search, and every change creates a new row.
 *
 * An operation runs to completion without awaiting, so it is atomic. An operation that throws
 * changes nothing, because it works on a copy of the lists that replaces them at the end.
 */
import type { Clock } from "../../src/base/clock.ts";
import {
  type Archive,
  type ArchivedRow,
  type ExportItem,
  findSummaryMismatch,
  type ImportOutcome,
  totalOf,
} from "../../src/store/archive.ts";
import { compareBranches } from "../../src/store/chain.ts";
import { isEdgeValid, matchesMemoryFilter } from "../../src/store/memory-filter.ts";
import {
  DELIVERY_STATES,
  type DeliveryState,
  isHeld,
  isOpen,
  type MemoryRow,
  type RelationEdge,
} from "../../src/store/rows.ts";
import { QueryProcessPool } from "../../src/store/sql/query-process-pool.ts";
import type { DeliveryTotals, Store } from "../../src/store/store.ts";
import { storeClosed } from "../../src/store/store-closed.ts";
import { verifyWorkspace } from "../../src/store/verify/workspace.ts";
import { isEdgeVisible, isRowVisible } from "../../src/store/visibility.ts";
import { DUE_TIMES, DueAnnouncer, type TimedOutcome } from "../../src/store/wake/due-announcer.ts";
import { WakeNotifier } from "../../src/store/wake/wake-notifier.ts";
import { collectRows, exportRows, occupiedOutcome, summaryOf } from "./archive.ts";
import { Models } from "./models.ts";
import {
  acceptDelivery,
  appendMemories,
  claimDeliveries,
  moveDeliveries,
  putEntry,
  registerAgent,
  renewLease,
  sendHandoff,
  sendHandoffs,
  settleDelivery,
} from "./operations.ts";
import { prunableEvents, prunableSteps, tracesIn } from "./prune.ts";
import { eraseBodies, seekBodies } from "./redact.ts";
import {
  asOf,
  byCodePoint,
  bytesOf,
  compareByPlace,
  copy,
  envelopeIn,
  headsOf,
  isAfter,
  matchesFilter,
  rowsOf,
  type Tables,
  withImportedRows,
} from "./rows.ts";
import { search } from "./search.ts";
import { tablesOf } from "./sql.ts";
import { Write } from "./write.ts";

export function openReferenceStore(options: { readonly clock: Clock }): Store {
  return new ReferenceStore(options.clock);
}

class ReferenceStore implements Store {
  readonly name = "memory";
  readonly #clock: Clock;
  readonly #notifier = new WakeNotifier();
  readonly #dueTimes = new DueAnnouncer(() => this.#notifier.ring([DUE_TIMES]));
  readonly #processes = new QueryProcessPool("memory");
  readonly #models = new Models();
  #closed = false;
  #shelf: Tables = {
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
    this.#write(operation.workspace, (write) => registerAgent(write, operation));

  appendMemories: Store["appendMemories"] = (operation) =>
    this.#write(operation.workspace, (write) => appendMemories(write, operation));

  putEntry: Store["putEntry"] = (workspace, entry, event) =>
    this.#write(workspace, (write) => putEntry(write, entry, event));

  sendHandoff: Store["sendHandoff"] = (operation) =>
    this.#writeTimed(operation.workspace, (write) => sendHandoff(write, operation));

  sendHandoffs: Store["sendHandoffs"] = (operations) =>
    this.#writeTimed(operations[0]?.workspace ?? "", (write) => sendHandoffs(write, operations));

  claimDeliveries: Store["claimDeliveries"] = (operation) =>
    this.#writeTimed(operation.workspace, (write) => claimDeliveries(write, operation));

  moveDeliveries: Store["moveDeliveries"] = (operation) =>
    this.#writeTimed(operation.workspace, (write) => moveDeliveries(write, operation));

  acceptDelivery: Store["acceptDelivery"] = (operation) =>
    this.#writeTimed(operation.workspace, (write) => acceptDelivery(write, operation));

  settleDelivery: Store["settleDelivery"] = (operation) =>
    this.#writeTimed(operation.workspace, (write) => settleDelivery(write, operation));

  renewLease: Store["renewLease"] = (workspace, lease) =>
    this.#write(workspace, (write) => renewLease(write, lease));

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
        retries: Math.min(
          limit,
          all.deliveries.filter((row) => row.state === "scheduled" && row.readyAt <= now).length,
        ),
      };
    });

  nextDue: Store["nextDue"] = async (workspaces) => {
    this.#refuseClosed();
    const now = this.#clock.now();
    const names = workspaces ?? [...new Set(this.#shelf.deliveries.map((row) => row.workspace))];
    return names
      .map((workspace) => {
        const write = new Write(workspace, now, this.#shelf);
        return { workspace, dueMs: write.nextDue() };
      })
      .filter(({ dueMs }) => Number.isFinite(dueMs));
  };

  makeRetriesReady: Store["makeRetriesReady"] = (workspace) =>
    this.#write(workspace, (write) => write.mature());

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
        .filter((row) => matchesMemoryFilter(row, filter) && isRowVisible(row, sight))
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
        .filter((edge) => edge[here] === memory && isEdgeValid(edge, operation))
        .filter((edge) => isEdgeVisible(other(edge), direction, sight))
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
        .sort(compareByPlace)
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
        .sort(compareByPlace)
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
        .filter((row) => matchesFilter(row, operation))
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
      const changed = eraseBodies(write.shelf, operation, write.now);
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
    this.#read(operation.workspace, (all) => seekBodies(all, operation));

  /** Has nothing to remove: the lists are the only copy. */
  scrub: Store["scrub"] = async () => {
    this.#refuseClosed();
    return { beyond: [] };
  };

  countDeliveries: Store["countDeliveries"] = (workspace) =>
    this.#read(workspace, (all): DeliveryTotals => {
      const count = (state: DeliveryState) =>
        all.deliveries.filter((row) => row.state === state).length;
      return {
        envelopes: all.envelopes.length,
        deliveries: all.deliveries.length,
        byState: Object.fromEntries(
          DELIVERY_STATES.map((state) => [state, count(state)]),
        ) as DeliveryTotals["byState"],
      };
    });

  listHeads: Store["listHeads"] = (workspace) =>
    this.#read(workspace, (all) => headsOf(all, workspace).toSorted(compareBranches));

  verify: Store["verify"] = async (workspace, onProgress, expected) => {
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
      expected,
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

  async *exportWorkspace(workspace: string): AsyncGenerator<ExportItem, void, undefined> {
    const all = await this.#read(workspace, (shelf) => shelf);
    for (const row of exportRows(all, headsOf(all, workspace))) {
      this.#refuseClosed();
      yield row;
    }
  }

  importWorkspace: Store["importWorkspace"] = async (workspace, archive, onProgress) => {
    const before = await this.#occupied(workspace, archive);
    if (before !== undefined) return before;
    const rows: ArchivedRow[] = [];
    for await (const row of archive.rows) rows.push(row);
    const { lists, problem } = collectRows(rows);
    if (problem !== undefined) return { kind: "unsound", problems: [problem] };
    // Verifies the rows in a separate store before they become visible.
    const scratch = new ReferenceStore(this.#clock);
    scratch.#shelf = withImportedRows(scratch.#shelf, workspace, { lists, archive });
    const { heads } = await scratch.#read(workspace, (all) => ({ heads: headsOf(all, workspace) }));
    const lost = findSummaryMismatch(summaryOf(lists, heads), archive.summary);
    if (lost !== undefined) return { kind: "unsound", problems: [lost] };
    const report = await scratch.verify(workspace, ({ checked: done, total }) =>
      onProgress?.({ phase: "verifying", done, total }),
    );
    if (report.problems.length > 0) return { kind: "unsound", problems: report.problems };
    const meanwhile = await this.#occupied(workspace, archive);
    if (meanwhile !== undefined) return meanwhile;
    const last = this.#shelf.events.at(-1)?.number ?? 0;
    this.#shelf = withImportedRows(this.#shelf, workspace, { lists, archive });
    const eventsMovedBy = Math.max(0, last + 1 - (lists.events[0]?.number ?? last + 1));
    return { kind: "imported", report, eventsMovedBy };
  };

  #occupied(workspace: string, archive: Archive): Promise<ImportOutcome | undefined> {
    return this.#read(workspace, (all) => {
      const heads = headsOf(all, workspace);
      const holds = totalOf(summaryOf(all, heads).counts) > 0;
      return holds ? occupiedOutcome(all, heads, archive) : undefined;
    });
  }

  backup: Store["backup"] = async () => {
    this.#refuseClosed();
    return { kind: "no_file" };
  };

  onWake: Store["onWake"] = (whom, listener) => this.#notifier.listen(whom, listener);

  async close(): Promise<void> {
    if (!this.#closed) this.#notifier.ringAll();
    this.#processes.close();
    this.#closed = true;
  }

  async #write<Outcome>(workspace: string, run: (write: Write) => Outcome): Promise<Outcome> {
    this.#refuseClosed();
    const write = new Write(workspace, this.#clock.now(), copy(this.#shelf));
    const outcome = run(write);
    if (!write.takenBack) this.#shelf = write.shelf;
    // As in a real store, listeners are called only after the write is acknowledged.
    queueMicrotask(() =>
      this.#notifier.ring([...write.woken].map((agent) => ({ workspace, agent }))),
    );
    return outcome;
  }

  /** Runs a write that can change due times, and announces the change. */
  async #writeTimed<Outcome extends TimedOutcome>(
    workspace: string,
    run: (write: Write) => Outcome,
  ): Promise<Outcome> {
    return this.#dueTimes.announce(await this.#write(workspace, run));
  }

  /** Runs a read on the rows of one workspace. */
  async #read<T>(workspace: string, run: (all: Tables) => T): Promise<T> {
    this.#refuseClosed();
    return run(rowsOf(this.#shelf, workspace));
  }

  #refuseClosed(): void {
    if (this.#closed) throw storeClosed();
  }
}

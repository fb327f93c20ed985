/**
 * An agent at work over HTTP: the same in one session as an agent of a hub in this process. Each method is
 * one call of the wire; what needs this end (receipts, effects, payload types, how far it has read) is
 * done here.
 */

import type { DocumentOptions, DocumentReport } from "../archive/markdown/take.ts";
import type { KeepingQuery } from "../archive/query.ts";
import type { ViewOptions } from "../context/view/compose.ts";
import type { CatchUp, CatchUpQuery } from "../coordination/catch-up/catch-up.ts";
import type { ReservationsQuery } from "../coordination/reservations/list.ts";
import type { Reservation } from "../coordination/reservations/reservation.ts";
import { type AcceptOptions, checkedChoice } from "../delivery/receive/accept.ts";
import { checkedInbox, type InboxOptions } from "../delivery/receive/inbox.ts";
import type { LintReport } from "../delivery/send/lint.ts";
import type { Preview } from "../delivery/send/preview.ts";
import type { SubscribeOptions } from "../delivery/settings/channels.ts";
import type { Asked } from "../delivery/settle/ask.ts";
import type { RedriveChanges } from "../delivery/settle/dead-letters.ts";
import type { Waiting, WaitingQuery } from "../delivery/watch/inbox-listing.ts";
import type { Noted } from "../delivery/work/note.ts";
import { effectOf, type Once } from "../delivery/work/once.ts";
import type { Approval, Edit } from "../delivery/work/person.ts";
import type { ReadMemory, ReadOptions } from "../delivery/work/read-record.ts";
import type { Draft, DraftOf } from "../envelope/schema.ts";
import type { Agent } from "../hub/agent.ts";
import type { DeliveryRow } from "../hub/forms.ts";
import type { Offer } from "../hub/offer.ts";
import type { Sent } from "../hub/sent.ts";
import type { Work } from "../hub/work.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { ReleaseInput } from "../ledger/releasing.ts";
import type { AgentInfo } from "../memory/agents.ts";
import type { BeginOptions } from "../memory/branches/branches.ts";
import type { BranchDiff, DiffQuery } from "../memory/branches/compare.ts";
import type { Merged, MergeOptions } from "../memory/branches/merge.ts";
import type { Pinned, PinsQuery } from "../memory/pins.ts";
import type { Impact, ImpactQuery } from "../memory/quarantine/blast-radius.ts";
import type {
  LiftOptions,
  LiftWhat,
  Quarantined,
  QuarantinedMemory,
  QuarantineOptions,
  QuarantineQuery,
  QuarantineWhat,
} from "../memory/quarantine/quarantine.ts";
import type { RecentMemory, RecentQuery, RelationsQuery } from "../memory/read.ts";
import type { Known } from "../memory/recall/known.ts";
import type { Recalled, RecallQuery } from "../memory/recall/recall.ts";
import type { Remembered, RememberOptions } from "../memory/recall/search-first.ts";
import type { Memory, MemoryInput } from "../memory/record.ts";
import type { RedactOptions, RedactReport, RedactTarget } from "../memory/redaction/redact.ts";
import type { SqlAnswer, SqlOptions } from "../memory/sql.ts";
import type { PruneOptions, PruneReport } from "../memory/traces/prune.ts";
import type { TraceStep } from "../memory/traces/trace.ts";
import type { TracesQuery } from "../memory/traces/traces.ts";
import type { OutputOf } from "../wire/calls.ts";
import { acceptNext } from "./accept.ts";
import { besides, requireFields, withoutListener } from "./besides.ts";
import { claimNext } from "./claims.ts";
import { RemoteFailures } from "./failures.ts";
import { memoryLines } from "./keeping.ts";
import { RemoteOffer } from "./offer.ts";
import { recordedOnce } from "./once.ts";
import { withPayload } from "./payloads.ts";
import { RemoteSent } from "./sent.ts";
import { RemoteSharedContext } from "./shared-context.ts";
import { runSql } from "./sql.ts";
import type { Base, Station } from "./station.ts";
import { RemoteTaskQueue } from "./task-queue.ts";
import { RemoteTraces } from "./traces.ts";
import type { Wire } from "./wire.ts";
import { withId } from "./with-id.ts";
import { RemoteWork } from "./work.ts";

export interface Session {
  readonly instance: string;
  readonly lease: Station["lease"];
  /** Undefined: the one that everybody is on. */
  readonly branch?: string | undefined;
  /** What the session has in hand, where it is known that nobody else acts in it. */
  readonly hands: Station["hands"];
  /** Of the same session on another branch: what it has traced, in order. */
  readonly traces?: RemoteTraces | undefined;
}

/** The branch that everybody is on. */
const TRUNK = "main";

export class RemoteAgent implements Agent {
  readonly #base: Base;
  readonly #session: Session;
  readonly #station: Station;
  readonly #wire: Wire;
  readonly info: AgentInfo;
  readonly context: RemoteSharedContext;
  readonly tasks: RemoteTaskQueue;
  readonly failures: RemoteFailures;

  constructor(base: Base, info: AgentInfo, session: Session) {
    const { instance, branch, lease, hands } = session;
    const silentMs = lease === "session" ? base.sessionMs : undefined;
    const wire = base.wire.as({ agent: info.id, session: instance, branch, silentMs });
    const traces = session.traces ?? new RemoteTraces(wire, base);
    this.#base = base;
    this.#session = { ...session, traces };
    this.#station = { ...base, wire, info, lease, traces, hands };
    this.#wire = wire;
    this.info = info;
    this.context = new RemoteSharedContext(wire, info.role);
    this.tasks = new RemoteTaskQueue(wire, base.payloads);
    this.failures = new RemoteFailures(wire, base.payloads);
  }

  get id(): string {
    return this.info.id;
  }

  get instance(): string {
    return this.#session.instance;
  }

  remember(input: MemoryInput, options?: RememberOptions): Promise<Remembered>;
  remember(inputs: readonly MemoryInput[], options?: RememberOptions): Promise<Remembered[]>;
  async remember(
    input: MemoryInput | readonly MemoryInput[],
    options: RememberOptions = {},
  ): Promise<Remembered | Remembered[]> {
    const inputs: readonly MemoryInput[] = Array.isArray(input) ? input : [input];
    const memories = inputs.map((each) => withId(this.#base.ids, each));
    const { known } = this.#base;
    const remembered = await this.#wire.call("remember", { known, ...options, memories });
    return Array.isArray(input) ? remembered : (remembered[0] as Remembered);
  }

  known(input: MemoryInput): Promise<readonly Known[]> {
    return this.#wire.call("known", { memory: input });
  }

  read(id: string, options: ReadOptions = {}): Promise<ReadMemory> {
    return this.#wire.call("readMemory", besides(options, { id }));
  }

  recent(query: RecentQuery = {}): Promise<RecentMemory[]> {
    return this.#wire.call("recent", query);
  }

  trace(step: TraceStep): Promise<Memory>;
  trace(steps: readonly TraceStep[]): Promise<Memory[]>;
  trace(step: TraceStep | readonly TraceStep[]): Promise<Memory | Memory[]> {
    const many = Array.isArray(step);
    const all = this.#station.traces.add(many ? step : [step]);
    const traced = many ? all : all.then((memories) => memories[0] as Memory);
    traced.catch(() => {}); // Tracing alone never ends a process; flush tells of it.
    return traced;
  }

  flush(): Promise<void> {
    return this.#station.traces.flush();
  }

  traces(query: TracesQuery = {}): Promise<Memory[]> {
    return this.#wire.call("traces", query);
  }

  recall(question: string, query: RecallQuery = {}): Promise<Recalled> {
    return this.#wire.call("recall", besides(query, { question }));
  }

  relations(memory: string, query: RelationsQuery = {}): Promise<OutputOf<"relations">> {
    return this.#wire.call("relations", besides(query, { id: memory }));
  }

  impact(memory: string, query: ImpactQuery = {}): Promise<Impact> {
    return this.#wire.call("impact", besides(query, { id: memory }));
  }

  quarantine(
    what: QuarantineWhat,
    reason: string,
    options: QuarantineOptions = {},
  ): Promise<Quarantined> {
    return this.#wire.call("quarantine", besides(options, { what, reason }));
  }

  lift(what: LiftWhat, reason: string, options: LiftOptions = {}): Promise<Quarantined> {
    return this.#wire.call("lift", besides(options, { what, reason }));
  }

  quarantined(query: QuarantineQuery = {}): Promise<QuarantinedMemory[]> {
    return this.#wire.call("quarantined", query);
  }

  sql(query: string, options: SqlOptions = {}): Promise<SqlAnswer> {
    return runSql(this.#wire, query, options);
  }

  redact(target: RedactTarget, reason: string, options: RedactOptions = {}): Promise<RedactReport> {
    const { onProgress, rest } = withoutListener(options);
    return this.#wire.call("redact", besides(rest, { target, reason }), { onProgress, long: true });
  }

  prune(options: PruneOptions = {}): Promise<PruneReport> {
    const { onProgress, rest } = withoutListener(options);
    return this.#wire.call("prune", rest, { onProgress, long: true });
  }

  async pin(memory: string): Promise<void> {
    await this.#wire.call("pin", { id: memory });
  }

  async unpin(memory: string): Promise<void> {
    await this.#wire.call("unpin", { id: memory });
  }

  pins(query: PinsQuery = {}): Promise<Pinned[]> {
    return this.#wire.call("pins", query);
  }

  get onBranch(): string {
    return this.#session.branch ?? TRUNK;
  }

  async branch(name: string, options: BeginOptions = {}): Promise<Agent> {
    return this.#onBranch((await this.#wire.call("beginBranch", besides(options, { name }))).name);
  }

  async on(branch: string): Promise<Agent> {
    return this.#onBranch((await this.#wire.call("findBranch", { name: branch })).name);
  }

  #onBranch(branch: string): Agent {
    const agent = new RemoteAgent(this.#base, this.info, { ...this.#session, branch });
    agent.context.sawUpTo(this.context.seen); // The same session has read it.
    return agent;
  }

  diff(branch: string, query: DiffQuery = {}): Promise<BranchDiff> {
    return this.#wire.call("diffBranch", besides(query, { name: branch }));
  }

  merge(branch: string, options: MergeOptions = {}): Promise<Merged> {
    return this.#wire.call("mergeBranch", besides(options, { name: branch }));
  }

  abandon(branch: string, reason: string): Promise<Memory> {
    return this.#wire.call("abandonBranch", { name: branch, reason });
  }

  async catchUp(query: CatchUpQuery = {}): Promise<CatchUp> {
    const caughtUp = await this.#wire.call("catchUp", query);
    this.context.sawUpTo(caughtUp.context);
    return caughtUp;
  }

  exportMemories(query: KeepingQuery = {}): AsyncGenerator<string, void, undefined> {
    return memoryLines(this.#wire, query);
  }

  async exportMarkdown(query: KeepingQuery = {}): Promise<string> {
    return (await this.#wire.call("exportMarkdown", query)).text;
  }

  importMarkdown(text: string, options: DocumentOptions = {}): Promise<DocumentReport> {
    return this.#wire.call("importMarkdown", besides(options, { text }));
  }

  async lint<T extends object = object>(draft: DraftOf<T>): Promise<LintReport> {
    return this.#wire.call("lintDraft", { draft: draft as Draft });
  }

  handoff<T extends object = object>(draft: DraftOf<T>): Promise<Sent<T>> {
    return this.#send<T>(draft, undefined);
  }

  async preview<T extends object = object>(
    draft: DraftOf<T>,
    options: ViewOptions = {},
  ): Promise<Preview<T>> {
    const checked = await this.#checked<T>(draft);
    return (await this.#wire.call("preview", besides(options, { draft: checked }))) as Preview<T>;
  }

  publish<T extends object = object>(
    channel: string,
    draft: Omit<DraftOf<T>, "to">,
    options: { readonly receivers?: readonly string[] } = {},
  ): Promise<Sent<T>> {
    const to = { kind: "channel" as const, channel };
    return this.#send<T>({ ...draft, to } as DraftOf<T>, options.receivers);
  }

  async join<T extends object = object>(
    of: readonly (Sent | string)[],
    given: DraftOf<T> & { readonly need?: "all" | "any" | number },
  ): Promise<Sent<T>> {
    requireFields(given);
    const { need, ...draft } = given;
    const ids = Array.isArray(of) ? of.map(idOf) : of;
    const checked = await this.#checked<T>(draft as DraftOf<T>);
    const said = { of: ids as string[], draft: checked, need };
    return new RemoteSent<T>(this.#wire, await this.#wire.call("joinHandoffs", said));
  }

  subscribe(channel: string, options: SubscribeOptions = {}): Promise<{ replayed: number }> {
    return this.#wire.call("subscribe", besides(options, { name: channel }));
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#wire.call("unsubscribe", { name: channel });
  }

  async cancel(
    what: { readonly delivery: string } | { readonly task: string },
    reason: string,
  ): Promise<readonly DeliveryRow[]> {
    requireFields(what);
    return "task" in what
      ? this.#wire.call("cancelTask", { task: what.task, reason })
      : this.#wire.call("cancelDelivery", { id: what.delivery, reason });
  }

  questions(): Promise<Asked[]> {
    return this.#wire.call("questions", {});
  }

  async ledger(task: string): Promise<Ledger | undefined> {
    return (await this.#wire.call("ledger", { task })).ledger ?? undefined;
  }

  release(task: string, released: ReleaseInput): Promise<Ledger> {
    return this.#wire.call("releaseFromLedger", { task, released });
  }

  reservations(query: ReservationsQuery = {}): Promise<readonly Reservation[]> {
    return this.#wire.call("reservations", query);
  }

  answer(delivery: string, text: string): Promise<DeliveryRow> {
    return this.#wire.call("answer", { id: delivery, text });
  }

  async redrive(delivery: string, changes: RedriveChanges = {}): Promise<DeliveryRow> {
    const checked = await withPayload(this.#base.payloads, changes);
    return this.#wire.call("redrive", besides(checked, { id: delivery }));
  }

  discard(delivery: string, reason: string): Promise<DeliveryRow> {
    return this.#wire.call("discard", { id: delivery, reason });
  }

  async once<T>(key: string, effect: () => Promise<T> | T): Promise<Once<T>> {
    const own = effectOf(key, effect);
    return recordedOnce(own.effect, {
      begin: () => this.#wire.call("beginOnce", { key: own.key }),
      record: (result) => this.#wire.call("recordOnce", { key: own.key, result }),
    });
  }

  async resolve(key: string, result: unknown): Promise<void> {
    await this.#wire.call("resolveOnce", { key, result });
  }

  async *inbox<T = unknown>(options: InboxOptions = {}): AsyncGenerator<Offer<T>, void, undefined> {
    const { task, ...waiting } = checkedInbox(options);
    for (;;) {
      const offer = await claimNext(this.#station, { task }, waiting);
      if (offer === undefined) return;
      yield new RemoteOffer<T>(this.#station, offer);
    }
  }

  async accept<T = unknown>(options: AcceptOptions = {}): Promise<Work<T> | undefined> {
    return acceptNext<T>(this.#station, checkedChoice(options));
  }

  async resume<T = unknown>(handle: string): Promise<Work<T>> {
    const form = await this.#wire.call("resumeWork", { handle });
    return new RemoteWork<T>(this.#stationOf(form.delivery.instance), form);
  }

  /** In the name of the session that accepted it: whose work it is does not change. */
  #stationOf(session: string): Station {
    if (session === this.instance) return this.#station;
    const { branch, lease } = this.#session;
    const silentMs = lease === "session" ? this.#base.sessionMs : undefined;
    const wire = this.#base.wire.as({ agent: this.id, session, branch, silentMs });
    return { ...this.#station, wire, traces: new RemoteTraces(wire, this.#base) };
  }

  async note(handle: string, input: MemoryInput | string): Promise<Noted> {
    const described = typeof input === "string" ? { content: input } : input;
    return this.#wire.call("note", { handle, note: withId(this.#base.ids, described) });
  }

  approve(delivery: string, options: Approval = {}): Promise<DeliveryRow> {
    return this.#wire.call("approve", besides(options, { id: delivery }));
  }

  reply(
    delivery: string,
    text: string,
    options: { readonly seen?: string | undefined } = {},
  ): Promise<DeliveryRow> {
    return this.#wire.call("reply", besides(options, { id: delivery, text }));
  }

  reject(
    delivery: string,
    reason: string,
    options: { readonly seen?: string | undefined } = {},
  ): Promise<DeliveryRow> {
    return this.#wire.call("reject", besides(options, { id: delivery, reason }));
  }

  async edit(delivery: string, given: Edit): Promise<Sent<object>> {
    const changes = await withPayload(this.#base.payloads, given);
    return new RemoteSent(this.#wire, await this.#wire.call("edit", { id: delivery, changes }));
  }

  waiting(query: WaitingQuery = {}): Promise<readonly Waiting[]> {
    return this.#wire.call("waiting", query);
  }

  async #send<T>(draft: DraftOf<T>, receivers: readonly string[] | undefined): Promise<Sent<T>> {
    const said = { draft: await this.#checked<T>(draft), receivers };
    return new RemoteSent<T>(this.#wire, await this.#wire.call("handoff", said));
  }

  async #checked<T>(draft: DraftOf<T>): Promise<Draft> {
    return (await withPayload(this.#base.payloads, draft)) as Draft;
  }
}

/** What was sent, or the delivery's id. */
const idOf = (each: unknown): unknown =>
  typeof each === "object" && each !== null && "id" in each ? each.id : each;

/**
 * Records calls that change nothing: denied ones, and what administrators read. They can be as many as a caller
 * likes, so they are counted: the first call of a kind is recorded at once, the ones after it together, at most
 * once a minute and, while they go on, ever more rarely. What is recorded is bounded whatever callers send.
 *
 * A workspace without any audit record has no agents, tokens or settings yet: nothing is recorded there, so
 * that calls cannot create workspaces, and an import still finds it empty.
 */
import { AUDIT_BRANCH } from "../../store/visibility.ts";
import type { Actor } from "../../workspace/actor.ts";
import { reportUnfinished } from "../../workspace/follow-up.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { systemAuthor } from "../system-author.ts";
import { type AuditData, auditBranchOf, auditRecord } from "./audit-record.ts";

/** A call to record. */
export interface RecordedCall {
  readonly kind: "denied" | "read";
  /** The operation. */
  readonly action: string;
  readonly actor: Actor;
  /** The error code, if it was denied. */
  readonly code?: string;
}

/** How often calls are recorded. */
export interface CallLogOptions {
  /** The time between two records of the same calls. Default: a minute. */
  readonly windowMs?: number;
  /** The time it grows to, by doubling, while the calls go on. Default: 16 minutes. */
  readonly longestMs?: number;
  /** How many different calls are counted separately; beyond that they share a record. Default: 100. */
  readonly kinds?: number;
}

const MINUTE_MS = 60_000;

/** Calls that are counted together. */
interface Counted {
  readonly call: RecordedCall;
  /** Settles when the first call is recorded. */
  readonly first: Promise<void>;
  windowMs: number;
  /** Calls since the last record, and when the first and the last of them were made. */
  count: number;
  from: number;
  until: number;
  timer?: NodeJS.Timeout;
}

/** Counts and records the calls of one workspace. */
export class CallLog {
  readonly #workspace: Workspace;
  readonly #options: Required<CallLogOptions>;
  readonly #counted = new Map<string, Counted>();
  readonly #writing = new Set<Promise<void>>();

  constructor(workspace: Workspace, options: CallLogOptions = {}) {
    this.#workspace = workspace;
    this.#options = { windowMs: MINUTE_MS, longestMs: 16 * MINUTE_MS, kinds: 100, ...options };
  }

  /** Counts a call. Resolves when such a call is recorded; rejects if that cannot be stored. */
  async add(given: RecordedCall): Promise<void> {
    const isFull = this.#counted.size >= this.#options.kinds && !this.#counted.has(keyOf(given));
    const call = isFull ? withoutDetails(given) : given;
    const counted = this.#counted.get(keyOf(call));
    if (counted === undefined) return this.#open(call).first;
    counted.until = this.#workspace.clock.now();
    if (counted.count++ === 0) counted.from = counted.until;
    return counted.first;
  }

  /** Records what was counted, and waits for it. */
  async close(): Promise<void> {
    for (const counted of this.#counted.values()) {
      clearTimeout(counted.timer);
      this.#flush(counted);
    }
    this.#counted.clear();
    await Promise.all(this.#writing);
  }

  #open(call: RecordedCall): Counted {
    const { windowMs } = this.#options;
    const counted: Counted = {
      ...{ call, first: this.#write(call), windowMs, count: 0, from: 0, until: 0 },
    };
    counted.first.catch(() => this.#forget(counted)); // The next call is recorded as the first.
    this.#counted.set(keyOf(call), counted);
    this.#startWindow(counted);
    return counted;
  }

  #startWindow(counted: Counted): void {
    counted.timer = setTimeout(() => this.#endWindow(counted), counted.windowMs).unref();
  }

  /** Records the calls of the window that ends; the counter of calls that have stopped is dropped. */
  #endWindow(counted: Counted): void {
    if (!this.#flush(counted)) {
      this.#forget(counted);
      return;
    }
    counted.windowMs = Math.min(2 * counted.windowMs, this.#options.longestMs);
    this.#startWindow(counted);
  }

  /** Records the calls since the last record. Returns false if there were none. */
  #flush(counted: Counted): boolean {
    const { call, count, from, until } = counted;
    if (count === 0) return false;
    counted.count = 0;
    this.#write(call, { count, from, until }).catch((error: unknown) =>
      reportUnfinished("audit record of calls", error),
    );
    return true;
  }

  #forget(counted: Counted): void {
    clearTimeout(counted.timer);
    const key = keyOf(counted.call);
    if (this.#counted.get(key) === counted) this.#counted.delete(key);
  }

  #write(
    call: RecordedCall,
    times: Pick<AuditData, "count" | "from" | "until"> = {},
  ): Promise<void> {
    const written = appendCall(this.#workspace, { ...call, ...times });
    const settled: Promise<void> = written
      .catch(() => {})
      .then(() => {
        this.#writing.delete(settled);
      });
    this.#writing.add(settled);
    return written;
  }
}

const keyOf = ({ kind, action, code, actor }: RecordedCall): string =>
  JSON.stringify([kind, action, code, actor.token ?? actor.address, actor.agent]);

const withoutDetails = ({ kind, code, actor: { via } }: RecordedCall): RecordedCall => ({
  kind,
  action: "*",
  actor: { via, token: "*" },
  ...(code === undefined ? {} : { code }),
});

async function appendCall(workspace: Workspace, data: AuditData): Promise<void> {
  const { store, name } = workspace;
  const [tip] = await store.findTips({ workspace: name, branches: [AUDIT_BRANCH] });
  if ((tip?.seq ?? 0) === 0) return;
  const record = auditRecord(workspace, await systemAuthor(workspace), data);
  const outcome = await store.appendMemories({ ...auditBranchOf(workspace), memories: [record] });
  if (outcome.kind === "appended") return;
  throw new Error(`unexpected outcome of recording a call: ${outcome.kind}`);
}

const logs = new WeakMap<object, CallLog>();

/** Counts a call of a workspace. */
export function recordCall(workspace: Workspace, call: RecordedCall): Promise<void> {
  const log = logs.get(workspace.root) ?? new CallLog(workspace);
  logs.set(workspace.root, log);
  return log.add(call);
}

/** Records what was counted of a workspace; call it before the store is closed. */
export const closeCallLog = async ({ root }: Workspace): Promise<void> => logs.get(root)?.close();

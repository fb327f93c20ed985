/**
 * What the benchmark knows about a system, and the interface that each system implements. A system
 * runs in its own processes (`child.ts`), so that none is slowed down by leftovers of another.
 */
import type { Body } from "./body.ts";

export type EngineName = "sqlite" | "postgres" | "redis-everysec" | "redis-always";

/** A configuration of a system. If there are several, all are run and the best one counts. */
export type Way = string;

export interface System {
  readonly name: string;
  readonly title: string;
  readonly engine: EngineName;
  readonly peer: boolean;
  /** Whether an acknowledged message is on disk. */
  readonly synced: boolean;
  /** Messages relative to the slowest system, so that all runs take about the same time. */
  readonly weight: number;
  /** Whether it has a bulk send call. */
  readonly bulk: boolean;
  readonly ways: {
    readonly enqueue: Way;
    readonly rate: readonly Way[];
    readonly latency: readonly Way[];
    /** Empty if the system has no redelivery. */
    readonly kill: readonly Way[];
  };
  /** Whether completions are acknowledged; if not, the store is polled until none is left. */
  readonly acknowledgesCompletion: boolean;
  open(address: string, way: Way): Promise<Connection>;
}

export interface Connection {
  send(body: Body): Promise<unknown>;
  /** Sends many in one call, if the system supports it. */
  sendMany?(bodies: readonly Body[]): Promise<unknown>;
  consume(how: Consuming): Promise<Consumption>;
  totals(): Promise<Tally>;
  close(): Promise<void>;
}

export interface Consuming {
  /** Number of consumers in this process. */
  readonly consumers: number;
  /** Concurrent messages per consumer. */
  readonly inFlight: number;
  /** Called when a consumer has a message; it works on it while the promise is pending. */
  take(body: Body, consumer: number): Promise<void>;
  /** Called when the completion is acknowledged (with `acknowledgesCompletion`), else when the handler ends. */
  done(consumer: number): void;
  /** Reports the duration of a write operation, if the system measures it. */
  timed(ms: number): void;
  failed(error: unknown): void;
}

export interface Consumption {
  stop(): Promise<void>;
}

/** Message counts, read from the store. */
export interface Tally {
  readonly left: number;
  /** Undefined if the system deletes completed messages. */
  readonly completed: number | undefined;
}

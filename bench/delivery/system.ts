/**
 * What the benchmark needs to know of a system, and what it asks of one. Everything a system does
 * happens in processes of its own (`child.ts`), so that none is slowed by what another left behind.
 */
import type { Body } from "./body.ts";

export type EngineName = "sqlite" | "postgres" | "redis-everysec" | "redis-always";

/** One configuration of a system. Where it has several, all are run and the best one counts. */
export type Way = string;

export interface System {
  readonly name: string;
  readonly title: string;
  readonly engine: EngineName;
  readonly peer: boolean;
  /** Whether an acknowledgement means that it is on the disk. */
  readonly synced: boolean;
  /** How many messages it gets for each of the slowest system, so that runs take similarly long. */
  readonly weight: number;
  /** Whether it has a call that sends many at once. */
  readonly bulk: boolean;
  readonly ways: {
    readonly enqueue: Way;
    readonly rate: readonly Way[];
    readonly latency: readonly Way[];
    /** None: it has no redelivery to measure. */
    readonly kill: readonly Way[];
  };
  /** False: only its store knows when a completion is in, so the store is asked for the last one. */
  readonly tellsDone: boolean;
  open(address: string, way: Way): Promise<Connection>;
}

export interface Connection {
  send(body: Body): Promise<unknown>;
  /** Many in one call, where the system has one. */
  sendMany?(bodies: readonly Body[]): Promise<unknown>;
  consume(how: Consuming): Promise<Consumption>;
  books(): Promise<Tally>;
  close(): Promise<void>;
}

export interface Consuming {
  /** In this process. */
  readonly consumers: number;
  /** Of each consumer. */
  readonly inFlight: number;
  /** A consumer has it; while the promise is pending, it works on it. */
  take(body: Body, consumer: number): Promise<void>;
  /** The completion was acknowledged (with `tellsDone`), else the handler has ended. */
  done(consumer: number): void;
  /** How long one writing operation took, where the system counts them. */
  timed(ms: number): void;
  failed(error: unknown): void;
}

export interface Consumption {
  stop(): Promise<void>;
}

/** What the store itself says. */
export interface Tally {
  readonly left: number;
  /** Undefined where finished ones are deleted. */
  readonly completed: number | undefined;
}

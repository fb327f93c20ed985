/** A submitted operation: what it touches, what it is about to take, and how it is answered. */
import type { ClaimDeliveries, Claimed } from "../store.ts";
import { asTaken, type Operation, type Outcome, type Take, touches } from "./group.ts";

/** Settled once. */
export class Write {
  readonly operation: Operation;
  readonly touches: readonly string[];
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (error: unknown) => void;
  /** What it is about to take, when it claims and accepts. */
  takes: readonly Take[] = [];
  settled = false;

  constructor(
    operation: Operation,
    resolve: (outcome: Outcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.operation = operation;
    this.touches = touches(operation);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get workspace(): string {
    return this.operation.of.workspace;
  }

  get weight(): number {
    return this.operation.kind === "append" ? this.operation.of.memories.length : 1;
  }

  /** Claims and accepts in one operation. */
  get taking(): ClaimDeliveries | undefined {
    const { kind, of } = this.operation;
    return kind === "claim" && of.accept !== undefined ? of : undefined;
  }

  /** Makes the records that accept what it is about to take. */
  prepare(claim: ClaimDeliveries, candidates: readonly Claimed[]): void {
    try {
      this.takes = candidates.map((candidate) => ({
        candidate,
        memory: claim.accept?.({
          delivery: asTaken(candidate.delivery, claim),
          envelope: candidate.envelope,
        }) as Take["memory"],
      }));
    } catch (error) {
      this.reject(error); // The caller's own.
    }
  }

  resolve(outcome: Outcome): void {
    this.settled = true;
    this.#resolve(outcome);
  }

  reject(error: unknown): void {
    this.settled = true;
    this.#reject(error);
  }
}

/** A clock that stands still until a test moves it. */
import type { Clock } from "../base/clock.ts";

export class VirtualClock implements Clock {
  #now: number;

  constructor(start: number = Date.UTC(2026, 0, 1)) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  advance(ms: number): void {
    this.#now += ms;
  }

  /** Sets any time, also an earlier one, because real clocks can go back too. */
  set(now: number): void {
    this.#now = now;
  }
}

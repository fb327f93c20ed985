/**
 * An event that occurs once, such as the stop of a loop. Any number of callers can listen: listeners of one
 * AbortSignal would make Node warn about a leak from the eleventh on.
 */
export class OneTimeEvent {
  readonly #controller = new AbortController();
  readonly #callbacks = new Set<() => void>();

  /** Aborts when the event occurs. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get hasOccurred(): boolean {
    return this.signal.aborted;
  }

  /** Aborts the signal, then calls every callback. */
  fire(reason?: Error): void {
    this.#controller.abort(reason);
    for (const callback of this.#callbacks) callback();
    this.#callbacks.clear();
  }

  /** Calls back when the event occurs, and returns a function that removes the callback. */
  on(callback: () => void): () => void {
    this.#callbacks.add(callback);
    return () => void this.#callbacks.delete(callback);
  }

  /** Waits for a time in milliseconds, at most until the event. Returns whether it has not occurred. */
  async sleep(ms: number): Promise<boolean> {
    if (this.hasOccurred) return false;
    await new Promise<void>((resolve) => {
      const remove = this.on(() => {
        clearTimeout(timer);
        resolve();
      });
      const timer = setTimeout(() => {
        remove();
        resolve();
      }, ms);
    });
    return !this.hasOccurred;
  }
}

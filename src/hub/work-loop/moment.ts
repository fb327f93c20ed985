/**
 * A moment that comes once, such as the stop of a loop. Any number of callers can wait for it: listeners of
 * one AbortSignal would make Node warn about a leak from the eleventh on.
 */
export class Moment {
  readonly #controller = new AbortController();
  readonly #callbacks = new Set<() => void>();

  /** Aborts when the moment comes. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get hasCome(): boolean {
    return this.signal.aborted;
  }

  /** Aborts the signal, then calls everything that waits. */
  come(reason?: Error): void {
    this.#controller.abort(reason);
    for (const callback of this.#callbacks) callback();
    this.#callbacks.clear();
  }

  /** Calls back when the moment comes, and returns a function that removes the callback. */
  on(callback: () => void): () => void {
    this.#callbacks.add(callback);
    return () => void this.#callbacks.delete(callback);
  }

  /** Waits for a time in milliseconds, at most until the moment comes. Returns whether it has not come. */
  async sleep(ms: number): Promise<boolean> {
    if (this.hasCome) return false;
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
    return !this.hasCome;
  }
}

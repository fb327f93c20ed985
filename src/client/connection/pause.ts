/** Timers that work in Node and in other runtimes. */

/** Options of `pause()`. */
export interface PauseOptions {
  /** Any of them ends the pause; the promise is rejected with its reason. */
  readonly signals: readonly AbortSignal[];
  /** True: does not keep the process running. */
  readonly quiet?: boolean | undefined;
}

/** Waits for a time in milliseconds. */
export async function pause(ms: number, { signals, quiet = false }: PauseOptions): Promise<void> {
  for (const signal of signals) signal.throwIfAborted();
  let end = () => {};
  const paused = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    if (quiet) unref(timer);
    const onAbort = (event: Event) => reject((event.target as AbortSignal).reason);
    for (const signal of signals) signal.addEventListener("abort", onAbort);
    end = () => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", onAbort);
    };
  });
  await paused.finally(end);
}

type Timer = ReturnType<typeof setTimeout>;

/** Lets the process end while the timer runs. Does nothing in browsers, where timers are numbers. */
export function unref(timer: Timer): Timer {
  (timer as Partial<Timer>).unref?.();
  return timer;
}

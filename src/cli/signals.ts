/** Waits for the signal that ends a command that runs until it is stopped. */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Resolves on the first signal; the second one exits at once. */
export function untilSignal(): Promise<void> {
  return new Promise((done) => {
    const stop = () => {
      for (const signal of SIGNALS) process.once(signal, () => process.exit(130));
      done();
    };
    for (const signal of SIGNALS) process.once(signal, stop);
  });
}

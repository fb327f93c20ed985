/** Prints a progress bar to stderr, only on an interactive terminal: never in a CI log or a dumb terminal. */
const WIDTH = 30;

/** CI services set CI to a value other than "false". */
const isBuild = ({ CI }: NodeJS.ProcessEnv): boolean =>
  CI !== undefined && CI !== "" && CI !== "false";

/** A progress bar; both methods do nothing when it is not shown. */
export interface Progress {
  show(done: number, total: number): void;
  /** Erases the bar. */
  end(): void;
}

/** Creates a progress bar with a label. */
export function progressBar(label: string): Progress {
  const { stderr } = process;
  if (!stderr.isTTY || isBuild(process.env) || process.env["TERM"] === "dumb")
    return { show: () => {}, end: () => {} };
  return {
    show(done, total) {
      const share = total === 0 ? 1 : Math.min(1, done / total);
      const full = Math.round(share * WIDTH);
      const bar = "█".repeat(full) + "░".repeat(WIDTH - full);
      stderr.write(`\r${label} ${bar} ${Math.round(share * 100)} %`);
    },
    end: () => void stderr.write("\r\u001b[K"),
  };
}

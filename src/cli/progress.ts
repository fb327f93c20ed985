/** A progress bar on stderr, only where somebody watches: on a terminal, and not in a build's log. */
const WIDTH = 30;

/** Set, and not "false", by every service that runs builds. */
const isBuild = ({ CI }: NodeJS.ProcessEnv): boolean =>
  CI !== undefined && CI !== "" && CI !== "false";

export interface Progress {
  show(done: number, total: number): void;
  /** Takes the bar away. */
  end(): void;
}

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

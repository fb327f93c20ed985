/**
 * The message body: 4 KB of JSON, the same for every system. Contains words and numbers like a
 * diff, because PostgreSQL compresses values longer than 2 KB and would shrink a repeated letter to
 * nothing.
 */
export interface Body {
  readonly n: number;
  /** When it was sent, by `now()`. */
  readonly sent: number;
  readonly files: readonly string[];
  readonly diff: string;
}

const BYTES = 4096;
const FILES = ["src/auth.ts", "test/auth.test.ts"];
const WORDS =
  "const return await token lease fence chain record digest agent handoff memory index limit error retry queue this.#store readonly string number".split(
    " ",
  );

/** Generated in advance, so that only delivery is measured. */
const DIFFS = Array.from({ length: 256 }, (_, seed) => diffOf(seed));

function diffOf(seed: number): string {
  let state = seed + 1;
  let text = "";
  while (text.length < BYTES) {
    state = (state * 48_271) % 2_147_483_647;
    text += `${WORDS[state % WORDS.length]} ${(state >> 5).toString(36)} `;
  }
  return text;
}

export function bodyOf(n: number, sent = 0): Body {
  const diff = DIFFS[n % DIFFS.length] as string;
  const available = BYTES - JSON.stringify({ n, sent, files: FILES, diff: "" }).length;
  return { n, sent, files: FILES, diff: diff.slice(0, available) };
}

/** Returns milliseconds of the monotonic clock, which all processes on Linux share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** What the test and the process it starts both write. */

export const BATCH = 50;
const CONTENT = "x".repeat(7_000);

/** About 350 kB, and enough records to wake the background thread after eleven commits. */
export const contentsOf = (n: number): { readonly content: string }[] =>
  Array.from({ length: BATCH }, (_, i) => ({ content: `${n}.${i} ${CONTENT}` }));

/** `Symbol.asyncDispose`, with a fallback for runtimes that do not define it yet. */
export const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

/** `Symbol.asyncDispose`, also where the runtime does not have it yet. */
export const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

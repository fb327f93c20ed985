/** The input of an operation: a JSON object. */
export type Input = Readonly<Record<string, unknown>>;

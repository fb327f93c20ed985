/** Returns a value that a test relies on; throws if it is undefined. */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("expected a value, got undefined");
  return value;
}

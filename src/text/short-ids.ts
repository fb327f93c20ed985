/**
 * Short ids: how records are named within one view. An id takes some thirty tokens, more than many a
 * record has to say; its last letters are enough to tell apart what one view considered. Where they are
 * not, the whole id stands there. Whoever holds the work reads a record by either.
 */
const LENGTH = 6;

export const isShortId = (id: string): boolean => /^[0-9a-f]{6}$/.test(id);

export const shortIdOf = (id: string): string => id.slice(-LENGTH);

/** What each record of a view is called, among all that the view considered. */
export function shortIdFormatter(ids: Iterable<string>): (id: string) => string {
  const times = new Map<string, number>();
  for (const id of new Set(ids)) {
    const short = shortIdOf(id);
    times.set(short, (times.get(short) ?? 0) + 1);
  }
  return (id) => (times.get(shortIdOf(id)) === 1 ? shortIdOf(id) : id);
}

/**
 * Short ids: how records are named within one view. A full id takes about thirty tokens, more than many
 * records contain; its last six hex digits usually distinguish the records of one view. If they do not, the
 * full id is shown. The holder of the work can read a record by either.
 */
const LENGTH = 6;

/** Returns true for a text in the form of a short id: six hex digits. */
export const isShortId = (id: string): boolean => /^[0-9a-f]{6}$/.test(id);

/** Returns the short form of an id: its last six characters. */
export const shortIdOf = (id: string): string => id.slice(-LENGTH);

/** Returns a function that shortens each id that stays unique among `ids`, and returns the others in full. */
export function shortIdFormatter(ids: Iterable<string>): (id: string) => string {
  const times = new Map<string, number>();
  for (const id of new Set(ids)) {
    const short = shortIdOf(id);
    times.set(short, (times.get(short) ?? 0) + 1);
  }
  return (id) => (times.get(shortIdOf(id)) === 1 ? shortIdOf(id) : id);
}

/**
 * Names longer than this get no suggestions: they are not typing errors, and the comparison time grows with
 * the length.
 */
const LONGEST = 200;

/** Returns the known names closest to a mistyped one, for hints: at most three, nearest first. */
export function nearestNames(wanted: string, known: readonly string[]): string[] {
  if (wanted.length > LONGEST) return [];
  const most = Math.max(2, Math.floor(wanted.length / 3));
  return known
    .map((name) => ({ name, distance: editDistance(wanted.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= most || name.includes(wanted))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ name }) => name);
}

/** Levenshtein distance, computed one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/**
 * Ids for ranges of an envelope's parts: `env_…#done[0-11]` for the first twelve of a list. A long list that
 * does not fit takes one line of the manifest, and each part is still named.
 */
import type { OmittedMemory } from "./view.ts";

const PART_RANGE = /^(.*#\w+)\[(\d+)(?:-(\d+))?\]$/;

/** Merges consecutive parts of a list that are omitted for the same reason. */
export function mergeRanges(omitted: readonly OmittedMemory[]): OmittedMemory[] {
  const runs: OmittedMemory[] = [];
  for (const each of omitted) {
    const before = runs.at(-1);
    const isAlike = before?.why === each.why && !before.shown && !each.shown;
    const id = isAlike ? joinRange(before.id, each.id) : undefined;
    if (before === undefined || id === undefined) runs.push(each);
    else runs[runs.length - 1] = { ...before, id, tokens: before.tokens + each.tokens };
  }
  return runs;
}

function joinRange(before: string, next: string): string | undefined {
  const [, list, from, to = from] = PART_RANGE.exec(before) ?? [];
  const [, other, at] = PART_RANGE.exec(next) ?? [];
  if (list === undefined || list !== other || Number(to) + 1 !== Number(at)) return undefined;
  return `${list}[${from}-${at}]`;
}

/** Returns the id of each part in a range. */
export function expandRange(id: string): string[] {
  const [, list, from, to = from] = PART_RANGE.exec(id) ?? [];
  if (list === undefined) return [id];
  const count = Number(to) - Number(from) + 1;
  return Array.from({ length: count }, (_, i) => `${list}[${Number(from) + i}]`);
}

/** What ties an entry of the document to its record: the id, and the beginning of its digest. */
import { ID_PREFIXES } from "../../base/ids.ts";

export interface Marker {
  readonly memory: string;
  readonly digest: string;
}

const DIGEST_LENGTH = 12;
/** Stored text never has one: its `<!--` stands after a backslash. */
const MARKER = new RegExp(
  `(?:^| )<!-- (${ID_PREFIXES.memory}[0-9a-f-]{36}) ([0-9a-f]{${DIGEST_LENGTH}}) -->`,
  "g",
);

export const markerOf = (record: { readonly id: string; readonly digest: string }): string =>
  `<!-- ${record.id} ${record.digest.slice(0, DIGEST_LENGTH)} -->`;

export const isMarkedBy = (marker: Marker, digest: string): boolean =>
  digest.startsWith(marker.digest);

/** Takes the markers out of a line. */
export function extractMarkers(line: string): {
  readonly text: string;
  readonly markers: readonly Marker[];
} {
  const markers: Marker[] = [];
  const text = line.replace(MARKER, (_, memory: string, digest: string) => {
    markers.push({ memory, digest });
    return "";
  });
  return { text, markers };
}

/** The marker that ties an entry of the document to its record: the id and the beginning of the digest. */
import { ID_PREFIXES } from "../../base/ids.ts";

/** A marker. */
export interface Marker {
  readonly memory: string;
  readonly digest: string;
}

const DIGEST_LENGTH = 12;
/** Encoded content never matches, because its `<!--` follows a backslash. */
const MARKER = new RegExp(
  `(?:^| )<!-- (${ID_PREFIXES.memory}[0-9a-f-]{36}) ([0-9a-f]{${DIGEST_LENGTH}}) -->`,
  "g",
);

/** Returns the marker of a record, as an HTML comment. */
export const markerOf = (record: { readonly id: string; readonly digest: string }): string =>
  `<!-- ${record.id} ${record.digest.slice(0, DIGEST_LENGTH)} -->`;

/** Returns true if the digest of a record matches the marker. */
export const isMarkedBy = (marker: Marker, digest: string): boolean =>
  digest.startsWith(marker.digest);

/** Removes the markers from a line and returns both. */
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

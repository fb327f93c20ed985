/** Adds the texts of envelopes to the records that vouch for them; reads them by id, which is indexed. */
import type { PositionedMemory } from "../codecs.ts";
import type { RowWithEnvelope } from "../search.ts";
import type { Row } from "./connection.ts";

/** Text that every handoff record contains: most records are not handoffs, and need not be parsed. */
const ENVELOPE_MARKER = '"envelope":{';

/** Returns the rows with the texts of their envelopes. */
export async function withEnvelopeTexts(
  rows: readonly PositionedMemory[],
  read: (ids: readonly string[]) => Promise<readonly Row[]>,
): Promise<readonly RowWithEnvelope[]> {
  const ids = rows.map(envelopeIdOf);
  const wanted = ids.filter((id) => id !== undefined);
  if (wanted.length === 0) return rows;
  const texts = new Map((await read(wanted)) as readonly [string, string][]);
  return rows.map((row, n) => ({ ...row, envelope: texts.get(ids[n] ?? "") }));
}

/** Returns undefined for records without an envelope and for damaged ones. */
function envelopeIdOf({ text }: PositionedMemory): string | undefined {
  if (!text.includes(ENVELOPE_MARKER)) return undefined;
  try {
    return (JSON.parse(text) as { readonly envelope?: { readonly id: string } }).envelope?.id;
  } catch {
    return undefined;
  }
}

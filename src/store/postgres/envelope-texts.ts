/** The texts of envelopes for the records that vouch for them: read by their ids, which have an index. */
import type { PositionedMemory } from "../codecs.ts";
import type { RowWithEnvelope } from "../search.ts";
import type { Row } from "./connection.ts";

/** Most records vouch for none, and need not be parsed to know that. */
const ENVELOPE_MARKER = '"envelope":{';

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

/** A damaged record vouches for nothing. */
function envelopeIdOf({ text }: PositionedMemory): string | undefined {
  if (!text.includes(ENVELOPE_MARKER)) return undefined;
  try {
    return (JSON.parse(text) as { readonly envelope?: { readonly id: string } }).envelope?.id;
  } catch {
    return undefined;
  }
}

/**
 * The stub that a redaction leaves in place of a body, and the record that vouches for it. The body is erased
 * and its digest stays, so that links and signatures over it remain valid. A record on the chain lists each
 * erased body with its digest and the digest of the stub: `verify` accepts a stub only if such a record
 * vouches for it.
 */
import { canonicalJson, sha256 } from "../base/digest.ts";
import { parseText } from "./rows.ts";

/** The field `redacted` of a stub. */
export interface Redaction {
  /** Time of the redaction in milliseconds. */
  readonly at: number;
  /** The agent that redacted it. */
  readonly by: string;
  /** The digest of the erased body. */
  readonly digest: string;
  /**
   * The record that was redacted. A copy made from a stub still has the original's id here: it is not a stub.
   */
  readonly id: string;
  readonly reason: string;
  /** The record on the chain that vouches for it. */
  readonly record: string;
}

/** One erased body, as a redaction record lists it. */
export type RedactedItem =
  | {
      readonly digest: string;
      readonly id: string;
      readonly kind: "memory" | "envelope";
      /** The digest of the stub. */
      readonly stub: string;
    }
  /** Not on the chain, so their former content needs no proof. */
  | { readonly id: string; readonly kind: "attempt" | "entry" | "agent" };

const MARK = '"redacted":{';

/** Returns the redaction of a stored body; undefined if the body is as it was written. */
export function redactionOf(row: {
  readonly id: string;
  readonly text: string;
}): Redaction | undefined {
  if (!row.text.includes(MARK)) return undefined;
  const { redacted } = parseText<{ readonly redacted?: Redaction }>(row);
  return redacted?.id === row.id ? redacted : undefined;
}

/** Returns the digest a body was written with, also after its redaction. */
export function digestOf(row: { readonly id: string; readonly text: string }): string {
  return redactionOf(row)?.digest ?? sha256(row.text);
}

/** Returns the text that replaces the reason of an ended attempt. */
export function redactedReason(record: string): string {
  return canonicalJson({ redacted: record }, "invalid_input");
}

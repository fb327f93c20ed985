/**
 * What a redaction leaves in place of a body, and what vouches for it. The body goes; the digest it had
 * stays, so that links and signatures over it still hold. A record on the chain names each body it
 * took away, with the digest before and the digest of what stands there now: `verify` believes a stub
 * that such a record vouches for, and no other.
 */
import { canonicalJson, sha256 } from "../base/digest.ts";
import { parseText } from "./rows.ts";

/** Stands in the stub, under `redacted`. */
export interface Redaction {
  readonly at: number;
  /** The agent that redacted it. */
  readonly by: string;
  /** The digest of the body that was here. */
  readonly digest: string;
  /** What was redacted: a copy that goes on from a stub says so, and is none itself. */
  readonly id: string;
  readonly reason: string;
  /** The record on the chain that vouches for it. */
  readonly record: string;
}

/** What a redaction record says it took away. */
export type RedactedItem =
  | {
      readonly digest: string;
      readonly id: string;
      readonly kind: "memory" | "envelope";
      /** The digest of what stands there now. */
      readonly stub: string;
    }
  /** Not on the chain themselves: nothing has to be proven about what they were. */
  | { readonly id: string; readonly kind: "attempt" | "entry" | "agent" };

const MARK = '"redacted":{';

/** Why and by whom a stored body was taken away; undefined where it is as it was written. */
export function redactionOf(row: {
  readonly id: string;
  readonly text: string;
}): Redaction | undefined {
  if (!row.text.includes(MARK)) return undefined;
  const { redacted } = parseText<{ readonly redacted?: Redaction }>(row);
  return redacted?.id === row.id ? redacted : undefined;
}

/** The digest a stored body was written with, also where the body is gone. */
export function digestOf(row: { readonly id: string; readonly text: string }): string {
  return redactionOf(row)?.digest ?? sha256(row.text);
}

/** Stands where a try said why it ended. */
export function redactedReason(record: string): string {
  return canonicalJson({ redacted: record }, "invalid_input");
}

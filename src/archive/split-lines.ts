/** Splits bytes into lines, holding at most one line in memory. */
import { BatonError } from "../base/errors.ts";
import type { Limits } from "../base/limits.ts";

const NEWLINE = 0x0a;

/** A line of a file. */
export interface Line {
  /** Counted from 1. */
  readonly number: number;
  /** The bytes as in the file, including the line end. */
  readonly bytes: Buffer;
}

/** Creates the error about a line; `why` continues the sentence "line 3 …". */
export type CreateLineError = (line: number, why: string, cause?: unknown) => BatonError;

/** Yields the lines of a file. Throws `limit_exceeded` if a line is longer than `limits.exportLineBytes`. */
export async function* splitLines(
  chunks: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
  { limits, refuse }: { readonly limits: Limits; readonly refuse: CreateLineError },
): AsyncGenerator<Line> {
  let rest: Buffer[] = [];
  let length = 0;
  let number = 0;
  for await (const chunk of chunks) {
    let bytes = bytesOf(chunk);
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE)) {
      yield { number: ++number, bytes: Buffer.concat([...rest, bytes.subarray(0, end + 1)]) };
      bytes = bytes.subarray(end + 1);
      rest = [];
      length = 0;
    }
    if (bytes.length > 0) rest.push(bytes);
    length += bytes.length;
    if (length > limits.exportLineBytes) throw tooLong(number + 1, limits.exportLineBytes);
  }
  if (length > 0) throw refuse(number + 1, "has no line end; the file was truncated");
}

function bytesOf(chunk: unknown): Buffer {
  if (typeof chunk === "string") return Buffer.from(chunk);
  if (chunk instanceof Uint8Array) return Buffer.from(chunk);
  throw new BatonError("invalid_input", {
    message: "Invalid import source: it contains a value that is neither a text nor bytes.",
    path: "source",
    hint: "Pass a list or stream of texts or bytes; wrap a single buffer in a list: [bytes].",
  });
}

function tooLong(line: number, max: number): BatonError {
  return new BatonError("limit_exceeded", {
    message: `Line ${line} exceeds the limit exportLineBytes of ${max} bytes.`,
    path: `line ${line}`,
    hint: "Check that the file is an export; if so, open the hub with limits: { exportLineBytes: … }.",
    details: { limit: "exportLineBytes", max },
  });
}

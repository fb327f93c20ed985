/** Bytes as lines, without ever holding more than one of them. */
import { BatonError } from "../base/errors.ts";
import type { Limits } from "../base/limits.ts";

const NEWLINE = 0x0a;

export interface Line {
  /** Counted from 1. */
  readonly number: number;
  /** As they are in the file, with the line's end. */
  readonly bytes: Buffer;
}

/** What a line was in; for messages. */
export type CreateLineError = (line: number, why: string, cause?: unknown) => BatonError;

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
  if (length > 0) throw refuse(number + 1, "has no end: the file was cut off in it");
}

function bytesOf(chunk: unknown): Buffer {
  if (typeof chunk === "string") return Buffer.from(chunk);
  if (chunk instanceof Uint8Array) return Buffer.from(chunk);
  throw new BatonError("invalid_input", {
    message: "What to import has something in it that is neither a text nor bytes.",
    path: "source",
    hint: "Pass a list or a stream of texts or bytes; bytes themselves in a list: [bytes].",
  });
}

function tooLong(line: number, max: number): BatonError {
  return new BatonError("limit_exceeded", {
    message: `Line ${line} is longer than ${max} bytes, the limit exportLineBytes.`,
    path: `line ${line}`,
    hint: "Check that it is an export; if it is, open the hub with limits: { exportLineBytes: … }.",
    details: { limit: "exportLineBytes", max },
  });
}

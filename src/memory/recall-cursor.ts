/**
 * The way from one page of an answer to the next: how far it went, and what the first page saw. Made
 * for one question: with another it is refused, because its pages would not fit together.
 */
import * as z from "zod";
import { sha256 } from "../canonical.ts";
import { BatonError } from "../errors.ts";

const Content = z.tuple([z.string(), z.int().min(0), z.int().min(0)]);

export interface Page {
  readonly fingerprint: string;
  readonly offset: number;
  readonly upTo: number;
}

export function fingerprintOf(question: string, query: object): string {
  return sha256(JSON.stringify([question, query])).slice(0, 12);
}

export function cursorFor({ fingerprint, offset, upTo }: Page): string {
  return Buffer.from(JSON.stringify([fingerprint, offset, upTo])).toString("base64url");
}

export const Cursor = {
  read(cursor: string, fingerprint: string): Page {
    const parsed = Content.safeParse(parse(Buffer.from(cursor, "base64url").toString()));
    if (!parsed.success) throw wrong("It is no cursor of an answer.");
    const [made, offset, upTo] = parsed.data;
    if (made !== fingerprint) throw wrong("It belongs to another question or other filters.");
    return { fingerprint, offset, upTo };
  },
};

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function wrong(message: string): BatonError {
  return new BatonError("invalid_input", {
    message: `The cursor cannot be used: ${message}`,
    path: "cursor",
    hint: "Pass the cursor of the page before, with the same question and the same filters.",
  });
}

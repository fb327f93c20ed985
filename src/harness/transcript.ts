/**
 * The end of a harness's transcript: what was asked and said last. Read from its end, so that it costs
 * the same after a day as after a minute. Formats are the harnesses' own and may change: what is not
 * understood is passed over, and the session's trace does instead.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

export interface Message {
  readonly role: "user" | "assistant";
  readonly text: string;
}

const TAIL_BYTES = 256 * 1024;

/** Oldest first; empty where there is no transcript that can be read. */
export function lastMessages(file: string | undefined): readonly Message[] {
  const lines = tailOf(file).split("\n").slice(1); // The first may be the end of a longer one.
  return lines.flatMap(messageIn);
}

export function lastMessage(file: string | undefined): string | undefined {
  return lastMessages(file).findLast(({ role }) => role === "assistant")?.text;
}

/** Nothing of one that is not there yet or cannot be read: the trace does instead. */
function tailOf(file: string | undefined): string {
  if (file === undefined) return "";
  try {
    return readTail(file);
  } catch (error) {
    if (error instanceof Error && "syscall" in error) return "";
    throw error;
  }
}

/** Begins with a line break, or with what is left of a line. */
function readTail(file: string): string {
  const handle = openSync(file, "r");
  try {
    const { size } = fstatSync(handle);
    const length = Math.min(size, TAIL_BYTES);
    const bytes = Buffer.alloc(length);
    readSync(handle, bytes, 0, length, size - length);
    return `${size > length ? "" : "\n"}${bytes.toString("utf8")}`;
  } finally {
    closeSync(handle);
  }
}

interface Part {
  readonly text?: unknown;
}

/** A line of Claude Code has a `message`, one of Codex a `payload`: each with role and content. */
interface Line {
  readonly message?: { readonly role?: unknown; readonly content?: unknown };
  readonly payload?: { readonly role?: unknown; readonly content?: unknown };
}

function messageIn(line: string): Message[] {
  const { role, content } = parseLine(line) ?? {};
  if (role !== "user" && role !== "assistant") return [];
  const parts = Array.isArray(content)
    ? (content as readonly (Part | null)[])
    : [{ text: content }];
  const texts = parts.flatMap((part) => (typeof part?.text === "string" ? [part.text] : []));
  const text = texts.join("\n").trim();
  return text === "" ? [] : [{ role, text }];
}

function parseLine(line: string): Line["message"] {
  if (!line.includes('"role"')) return undefined;
  try {
    const read = JSON.parse(line) as Line | null;
    return read?.message ?? read?.payload ?? undefined;
  } catch (error) {
    // The harness may be in the middle of writing the last line.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

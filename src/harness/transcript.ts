/**
 * Reads the last messages of a harness's transcript. Only the end of the file is read, so that the cost
 * does not grow with the session. The formats belong to the harnesses and may change: unknown lines are
 * skipped, and the session's trace is used instead.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** One message of the transcript. */
export interface Message {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** How much of the end of the file is read. */
const TAIL_BYTES = 256 * 1024;

/** Returns the last messages, oldest first; empty if the transcript is missing or cannot be read. */
export function lastMessages(file: string | undefined): readonly Message[] {
  const lines = tailOf(file).split("\n").slice(1); // The first line may be incomplete.
  return lines.flatMap(messageIn);
}

/** Returns the last message of the assistant; undefined if there is none. */
export function lastMessage(file: string | undefined): string | undefined {
  return lastMessages(file).findLast(({ role }) => role === "assistant")?.text;
}

/** Returns the end of the file; empty if it does not exist or cannot be read. */
function tailOf(file: string | undefined): string {
  if (file === undefined) return "";
  try {
    return readTail(file);
  } catch (error) {
    if (error instanceof Error && "syscall" in error) return "";
    throw error;
  }
}

/** Reads the end of the file. The result starts with a line break or an incomplete line. */
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

/** A line of Claude Code has a `message`, a line of Codex a `payload`; both have role and content. */
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
    // The harness may still be writing the last line.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

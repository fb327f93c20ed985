/**
 * Adds and removes Baton's part of a TOML file: a block between two comments at the end, where a table is
 * always allowed. Adding and removing it keeps every other byte, including comments: the text is edited, and
 * the parser only checks it before and after.
 */
import { parse, TomlDate, TomlError, type TomlTable, type TomlValue } from "smol-toml";
import { BatonError } from "../../base/errors.ts";
import { unusableFile } from "./file-changes.ts";

const BLOCK_START = "# >>> baton: written by baton setup codex, removed by --undo";
const BLOCK_END = "# <<< baton";
/** Groups: line ending before; Baton's table; tables of others between the marks; line ending after. */
const BLOCK =
  /(^|\r?\n)(# >>> baton[^\n]*\n\[[^\n]*\n(?:[^\n]*\n)*?)((?:(?:\r?\n)?\[[^\n]*\n(?:[^\n]*\n)*?)?)# <<< baton(\r?\n|$)/;

/** Some editors write it at the start of a file. */
const BYTE_ORDER_MARK = /^\ufeff/;

/** Parses a file; throws `file_unusable` with the line when it is not valid TOML. */
export function readToml(text: string | undefined, file: string): TomlTable {
  try {
    return parse((text ?? "").replace(BYTE_ORDER_MARK, ""), { integersAsBigInt: "asNeeded" });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Only the first line of the message; the others quote the file.
    const [reason = ""] = error.message.replace("Invalid TOML document: ", "").split("\n");
    throw unusableFile(file, `line ${error.line}: ${reason}`, error);
  }
}

/** Returns the value at a path of keys; undefined if there is none. */
export function tomlAt(table: TomlTable, path: readonly string[]): TomlValue | undefined {
  return path.reduce<TomlValue | undefined>(
    (value, key) => (isTable(value) ? value[key] : undefined),
    table,
  );
}

/** Returns whether a value is a table. */
export const isTable = (value: TomlValue | undefined): value is TomlTable =>
  typeof value === "object" && !Array.isArray(value) && !(value instanceof TomlDate);

/**
 * Returns the file with a table of strings and lists of strings, in the existing block or a new one at the
 * end. Throws if another table has the same name.
 */
export function withBlock(
  text: string | undefined,
  file: string,
  header: readonly string[],
  values: Readonly<Record<string, string | readonly string[]>>,
): string {
  const rest = withoutBlock(text, file) ?? "";
  if (isTaken(rest, file, header)) throw tableNameTaken(file, header);
  const pairs = Object.entries(values).map(([key, value]) => [key, tomlText(value)] as const);
  const changed =
    BLOCK.exec(text ?? "") === null
      ? rest + newBlock(rest, [`[${header.join(".")}]`, ...pairs.map((pair) => pair.join(" = "))])
      : pairs.reduce(withValue, text ?? "");
  readToml(changed, file); // Ensures that the harness can still parse the file.
  return changed;
}

/** Builds the block with the line endings of the file; adds a final line ending only if the file has one. */
function newBlock(rest: string, table: readonly string[]): string {
  const eol = rest.includes("\r\n") ? "\r\n" : "\n";
  const lines = [BLOCK_START, ...table, BLOCK_END].join(eol);
  if (rest === "") return `${lines}${eol}`;
  return rest.endsWith("\n") ? `${eol}${lines}${eol}` : `${eol}${lines}`;
}

/** Replaces only the line of one key, because the user may have added others to the table. */
function withValue(text: string, [key, value]: readonly [string, string]): string {
  const line = new RegExp(`^${key} *=[^\\r\\n]*`, "m");
  return text.replace(BLOCK, (block, before: string, ours: string) => {
    const now = ours.replace(line, () => `${key} = ${value}`);
    return before + now + block.slice(before.length + ours.length);
  });
}

/**
 * Returns whether the file has a table with this name that Baton did not write. A table within it, such as
 * its environment, does not count: the header can still be added.
 */
function isTaken(text: string, file: string, header: readonly string[]): boolean {
  const there = tomlAt(readToml(text, file), header);
  if (there === undefined) return false;
  if (!isTable(there) || "command" in there) return true;
  try {
    readToml(`${text}\n[${header.join(".")}]\n`, file);
    return false;
  } catch {
    return true;
  }
}

/** Removes the block; undefined if nothing is left. Tables that a harness wrote between the marks stay. */
export function withoutBlock(text: string | undefined, file: string): string | undefined {
  readToml(text, file);
  const found = BLOCK.exec(text ?? "");
  if (text === undefined || found === null) return text;
  const [block, eol = "", , theirs = ""] = found;
  const before = text.slice(0, found.index);
  const behind = theirs + text.slice(found.index + block.length);
  // The last line before the block had no line ending until the block was added.
  const isJoined = /[^\n]$/.test(before) && /^[^\r\n]/.test(behind);
  const rest = `${before}${isJoined ? eol : ""}${behind}`;
  readToml(rest, file);
  return rest || undefined;
}

const tomlText = (value: string | readonly string[]): string =>
  typeof value === "string" ? quoted(value) : `[${value.map(quoted).join(", ")}]`;

/** A JSON string is a valid basic string of TOML, except for DEL. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll("\u007f", "\\u007f");

function tableNameTaken(file: string, header: readonly string[]): BatonError {
  return new BatonError("already_exists", {
    message: `${file} has a table [${header.join(".")}] that this command did not write. Nothing was changed.`,
    path: file,
    hint: "Keep that table if it already starts Baton, or remove it; baton setup mcp prints the expected entry.",
  });
}

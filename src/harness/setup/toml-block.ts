/**
 * Our part of a TOML file: a block between two comments, at the end, where a table can always stand.
 * Adding it and removing it again leaves every other byte as it was, comments included: the text is edited,
 * and the parser only checks it before and after.
 */
import { parse, TomlDate, TomlError, type TomlTable, type TomlValue } from "smol-toml";
import { BatonError } from "../../base/errors.ts";
import { unusableFile } from "./file-changes.ts";

const BLOCK_START = "# >>> baton: written by baton setup codex, taken out by --undo";
const BLOCK_END = "# <<< baton";
/** The line end before it; our table; tables that others wrote between the marks; the line end behind. */
const BLOCK =
  /(^|\r?\n)(# >>> baton[^\n]*\n\[[^\n]*\n(?:[^\n]*\n)*?)((?:(?:\r?\n)?\[[^\n]*\n(?:[^\n]*\n)*?)?)# <<< baton(\r?\n|$)/;

/** Some editors begin a file with it. */
const BYTE_ORDER_MARK = /^\ufeff/;

/** Parses a file; throws `file_unusable` with the line when it is not valid TOML. */
export function readToml(text: string | undefined, file: string): TomlTable {
  try {
    return parse((text ?? "").replace(BYTE_ORDER_MARK, ""), { integersAsBigInt: "asNeeded" });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Its message goes on with the lines around the place.
    const [reason = ""] = error.message.replace("Invalid TOML document: ", "").split("\n");
    throw unusableFile(file, `line ${error.line}: ${reason}`, error);
  }
}

/** Returns the value at a path of keys; undefined where there is none. */
export function tomlAt(table: TomlTable, path: readonly string[]): TomlValue | undefined {
  return path.reduce<TomlValue | undefined>(
    (value, key) => (isTable(value) ? value[key] : undefined),
    table,
  );
}

export const isTable = (value: TomlValue | undefined): value is TomlTable =>
  typeof value === "object" && !Array.isArray(value) && !(value instanceof TomlDate);

/** With a table of strings and lists of strings: in the block there may be, else in a new one at the end. */
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
  readToml(changed, file); // Ours is no reason for the harness not to start.
  return changed;
}

/** As the lines before it end; a file whose last line does not end gets none that does. */
function newBlock(rest: string, table: readonly string[]): string {
  const eol = rest.includes("\r\n") ? "\r\n" : "\n";
  const lines = [BLOCK_START, ...table, BLOCK_END].join(eol);
  if (rest === "") return `${lines}${eol}`;
  return rest.endsWith("\n") ? `${eol}${lines}${eol}` : `${eol}${lines}`;
}

/** Its owner may have added to our table: only the line with this key is another. */
function withValue(text: string, [key, value]: readonly [string, string]): string {
  const line = new RegExp(`^${key} *=[^\\r\\n]*`, "m");
  return text.replace(BLOCK, (block, before: string, ours: string) => {
    const now = ours.replace(line, () => `${key} = ${value}`);
    return before + now + block.slice(before.length + ours.length);
  });
}

/**
 * Whether the file has a table under our name that this command did not write. A table within ours, such as
 * its environment, does not count: our header can still be added.
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

/** Undefined: nothing is left. Tables that a harness wrote between our marks are not ours, and stay. */
export function withoutBlock(text: string | undefined, file: string): string | undefined {
  readToml(text, file);
  const found = BLOCK.exec(text ?? "");
  if (text === undefined || found === null) return text;
  const [block, eol = "", , theirs = ""] = found;
  const before = text.slice(0, found.index);
  const behind = theirs + text.slice(found.index + block.length);
  // The last line of theirs had no end until something came behind it.
  const isJoined = /[^\n]$/.test(before) && /^[^\r\n]/.test(behind);
  const rest = `${before}${isJoined ? eol : ""}${behind}`;
  readToml(rest, file);
  return rest || undefined;
}

const tomlText = (value: string | readonly string[]): string =>
  typeof value === "string" ? quoted(value) : `[${value.map(quoted).join(", ")}]`;

/** A JSON string is a basic string of TOML, but for DEL. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll("\u007f", "\\u007f");

function tableNameTaken(file: string, header: readonly string[]): BatonError {
  return new BatonError("already_exists", {
    message: `${file} has a table [${header.join(".")}] that this command did not write. Nothing was changed.`,
    path: file,
    hint: "Take it out, or leave it: it may do already. baton setup mcp prints what it should say.",
  });
}

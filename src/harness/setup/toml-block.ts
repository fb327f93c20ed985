/**
 * Our part of a TOML file: a block between two comments, at the end, where a table can always stand.
 * Putting it there and taking it out again leaves every other byte as it was.
 */
import { BatonError } from "../../errors.ts";
import { unusable } from "./json-edit.ts";
import { parseToml, type Toml, TomlError, TomlTable, tomlAt } from "./toml.ts";

const FIRST = "# >>> baton: written by baton setup codex, taken out by --undo";
const LAST = "# <<< baton";
const BLOCK = /(?:^|\n)# >>> baton[^\n]*\n(?:[^\n]*\n)*?# <<< baton(?:\r?\n|$)/;

export function readToml(text: string | undefined, file: string): TomlTable {
  try {
    return parseToml(text ?? "");
  } catch (error) {
    if (error instanceof TomlError) throw unusable(file, error.message, error);
    throw error;
  }
}

/** With a table of strings and lists of strings, in place of the block there may be. */
export function withBlock(
  text: string | undefined,
  file: string,
  header: readonly string[],
  values: Readonly<Record<string, string | readonly string[]>>,
): string {
  const rest = withoutBlock(text, file) ?? "";
  if (isTaken(tomlAt(readToml(rest, file), header))) throw taken(file, header);
  const lines = [
    FIRST,
    `[${header.join(".")}]`,
    ...Object.entries(values).map(([key, value]) => `${key} = ${tomlText(value)}`),
    LAST,
  ].join("\n");
  const added =
    rest === "" ? `${lines}\n` : rest.endsWith("\n") ? `${rest}\n${lines}\n` : `${rest}\n${lines}`;
  readToml(added, file); // Ours is no reason for the harness not to start.
  return added;
}

/** A table of theirs within ours, such as its environment, is no hindrance. */
const isTaken = (there: Toml | undefined): boolean =>
  there !== undefined &&
  !(there instanceof TomlTable && !there.isDefined && !there.values.has("command"));

/** Undefined: nothing is left. */
export function withoutBlock(text: string | undefined, file: string): string | undefined {
  readToml(text, file);
  if (text === undefined || !BLOCK.test(text)) return text;
  return text.replace(BLOCK, "") || undefined;
}

const tomlText = (value: string | readonly string[]): string =>
  typeof value === "string" ? quoted(value) : `[${value.map(quoted).join(", ")}]`;

/** A JSON string is a basic string of TOML, but for DEL. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll("\u007f", "\\u007f");

function taken(file: string, header: readonly string[]): BatonError {
  return new BatonError("already_exists", {
    message: `${file} has a table [${header.join(".")}] that this command did not write. Nothing was changed.`,
    path: file,
    hint: "Take it out, or leave it: it may do already. baton setup mcp prints what it should say.",
  });
}

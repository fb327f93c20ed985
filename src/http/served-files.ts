/**
 * The folders whose files callers over HTTP may compare artifacts with, one per workspace. Without one, their
 * artifacts are unchecked. Dotfiles are never opened: they hold keys and settings.
 */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { BatonError } from "../base/errors.ts";
import { NAME_PATTERN } from "../base/names.ts";
import type { FilesFolder } from "../workspace/workspace.ts";

/** By workspace. */
export type ServedFiles = Readonly<Record<string, FilesFolder>>;

/** Checks the option `files` of a listener. Throws `invalid_input` for what is not a folder. */
export function servedFiles(folders: Readonly<Record<string, string>> = {}): ServedFiles {
  return Object.fromEntries(
    Object.entries(folders).map(([workspace, folder]) => {
      if (!NAME_PATTERN.test(workspace)) throw invalid(`"${workspace}" is not a workspace name`);
      const path = resolve(folder);
      if (!isFolder(path)) throw invalid(`${path} is not a folder`);
      return [workspace, { path, dotfiles: false }];
    }),
  );
}

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const invalid = (what: string): BatonError =>
  new BatonError("invalid_input", {
    message: `Invalid files: ${what}.`,
    path: "files",
    hint: "Pass an existing folder for each workspace whose callers may compare artifacts with its files.",
  });

/** Checks of the options that a local hub and the HTTP client share. They run before anything is opened. */
import { FORMAT_LIMITS } from "../base/limits.ts";
import { LEASE_KINDS, type LeaseKind } from "../delivery/receive/worker.ts";
import {
  type Check,
  checkFields,
  checkValue,
  nameCheck,
  oneOfCheck,
  optionalCheck,
  textCheck,
} from "../envelope/check-options.ts";
import type { SimilarMemoryMode } from "../workspace/workspace.ts";

const isSessionTimeout: Check = (value) => {
  if (!Number.isSafeInteger(value)) {
    return {
      rule: "type",
      message: "must be a whole number of milliseconds",
      hint: "Write an integer.",
    };
  }
  const ms = value as number;
  if (ms < 1) return { rule: "min_value", message: "must be at least 1", hint: "At least 1." };
  if (ms <= FORMAT_LIMITS.durationMs) return undefined;
  return {
    rule: "max_value",
    message: "must be a year at most",
    hint: `At most ${FORMAT_LIMITS.durationMs}.`,
  };
};

/** Returns how long a session may be silent, in milliseconds. */
export const sessionTimeout = (
  { sessionMs }: { readonly sessionMs?: number | undefined },
  path = "sessionMs",
): number | undefined => checkValue(sessionMs, optionalCheck(isSessionTimeout), "The option", path);

/** How `hub.agent()` opens a session. */
export interface SessionOptions {
  /** The session's name. Default: a new one. */
  readonly instance?: string | undefined;
  /** What the session's leases are bound to: this process (default), or the session's calls. */
  readonly lease?: LeaseKind | undefined;
}

const SESSION = {
  instance: optionalCheck(nameCheck),
  lease: optionalCheck(oneOfCheck(LEASE_KINDS)),
};

export function checkedSession(
  session: SessionOptions,
): SessionOptions & { readonly lease: LeaseKind } {
  checkFields(session, SESSION, "The session");
  return { ...session, lease: session.lease ?? "process" };
}

const KNOWN_MODES: readonly SimilarMemoryMode[] = ["ignore", "report", "refuse"];

/** Returns what `remember` does about a memory that is known already. Default: "ignore". */
export const knownMode = ({
  known = "ignore",
}: {
  readonly known?: SimilarMemoryMode;
}): SimilarMemoryMode => checkValue(known, oneOfCheck(KNOWN_MODES), "The option", "known");

const isFolder: Check = (value) =>
  value === false || textCheck(value) === undefined
    ? undefined
    : { rule: "type", message: "must be a folder, or false", hint: "Write a path, or false." };

/** Returns the folder whose files are read for artifacts, as given; undefined: none. */
export function filesOption({
  files = ".",
}: {
  readonly files?: string | false;
}): string | undefined {
  const folder = checkValue(files, isFolder, "The option", "files");
  return folder === false ? undefined : folder;
}

export const workspaceName = ({
  workspace = "default",
}: {
  readonly workspace?: string | undefined;
}): string => checkValue(workspace, nameCheck, "The workspace", "workspace");

/**
 * Checks of the options that a local hub and the HTTP client share. They run before a store or connection is
 * opened and throw `invalid_input`.
 */
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
      hint: "Pass an integer.",
    };
  }
  const ms = value as number;
  if (ms < 1) return { rule: "min_value", message: "must be at least 1", hint: "Pass at least 1." };
  if (ms <= FORMAT_LIMITS.durationMs) return undefined;
  return {
    rule: "max_value",
    message: "must be at most one year",
    hint: `Pass at most ${FORMAT_LIMITS.durationMs}.`,
  };
};

/**
 * Returns how long a session can make no calls before its leases end, in milliseconds; undefined: the
 * default.
 */
export const sessionTimeout = (
  { sessionMs }: { readonly sessionMs?: number | undefined },
  path = "sessionMs",
): number | undefined => checkValue(sessionMs, optionalCheck(isSessionTimeout), "The option", path);

/** How `hub.agent()` opens a session. */
export interface SessionOptions {
  /** The id of the session. Default: a new id. */
  readonly instance?: string | undefined;
  /**
   * What the leases of the session depend on: "process" (default) keeps them while this process lives,
   * "session" while the session makes calls.
   */
  readonly lease?: LeaseKind | undefined;
}

const SESSION = {
  instance: optionalCheck(nameCheck),
  lease: optionalCheck(oneOfCheck(LEASE_KINDS)),
};

/** Returns the checked session options with `lease` filled in. */
export function checkedSession(
  session: SessionOptions,
): SessionOptions & { readonly lease: LeaseKind } {
  checkFields(session, SESSION, "The session");
  return { ...session, lease: session.lease ?? "process" };
}

const KNOWN_MODES: readonly SimilarMemoryMode[] = ["ignore", "report", "refuse"];

/** Returns what `remember` does about similar memories that exist. Default: "ignore". */
export const knownMode = ({
  known = "ignore",
}: {
  readonly known?: SimilarMemoryMode;
}): SimilarMemoryMode => checkValue(known, oneOfCheck(KNOWN_MODES), "The option", "known");

const isFolder: Check = (value) =>
  value === false || textCheck(value) === undefined
    ? undefined
    : { rule: "type", message: "must be a folder path or false", hint: "Pass a path or false." };

/**
 * Returns the folder from which artifacts are read, as passed, or undefined if there is none. Default: ".".
 */
export function filesOption({
  files = ".",
}: {
  readonly files?: string | false;
}): string | undefined {
  const folder = checkValue(files, isFolder, "The option", "files");
  return folder === false ? undefined : folder;
}

/** Returns the checked name of the workspace. Default: "default". */
export const workspaceName = ({
  workspace = "default",
}: {
  readonly workspace?: string | undefined;
}): string => checkValue(workspace, nameCheck, "The workspace", "workspace");

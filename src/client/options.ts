/** What a hub over HTTP is opened with: its address and its options, checked before anything is sent. */

import { BatonError } from "../base/errors.ts";
import { filesOption, knownMode, sessionTimeout, workspaceName } from "../hub/option-checks.ts";
import type { HubOptions } from "../hub/options.ts";
import { CLIENT_TIMING } from "./connection/timing.ts";

/** Told to the hub that is elsewhere, or of use at this end; everything else is decided there. */
const REMOTE_OPTIONS: readonly (keyof HubOptions)[] = [
  "create",
  "fetch",
  "files",
  "known",
  "patienceMs",
  "sessionMs",
  "token",
  "workspace",
];

/** The address as requests begin: no name, no password, no slash at its end. */
export function baseUrlOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw invalidOption(
      "address",
      "must be an http or https address",
      "For instance http://127.0.0.1:4747.",
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw invalidOption(
      "address",
      "must not hold a name or password",
      "Pass the token as an option.",
    );
  }
  if (url.search !== "" || url.hash !== "") {
    throw invalidOption(
      "address",
      "must end with its path",
      "Leave out what follows the ? or the #.",
    );
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

export function requireRemoteOptions(options: HubOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || REMOTE_OPTIONS.includes(name as keyof HubOptions)) continue;
    throw invalidOption(
      name,
      "is for a hub in this process, not for one over HTTP",
      "Leave it out here, and open the hub with it where it is served.",
    );
  }
  if (options.workspace !== undefined) workspaceName(options);
  sessionTimeout(options);
  filesOption(options);
  knownMode(options);
  const { token, patienceMs = CLIENT_TIMING.outageMs } = options;
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw invalidOption(
      "token",
      "must be printable characters without spaces",
      "Look for a line end in it.",
    );
  }
  if (!Number.isFinite(patienceMs) || patienceMs < 0) {
    throw invalidOption("patienceMs", "must be a number of milliseconds", "0 waits for nothing.");
  }
}

function invalidOption(path: string, rule: string, hint: string): BatonError {
  return new BatonError("invalid_input", { message: `The option ${path} ${rule}.`, path, hint });
}

export function workspaceMismatch(asked: string, actual: string): BatonError {
  return new BatonError("invalid_input", {
    message: `The token is for workspace "${actual}", not for "${asked}".`,
    path: "workspace",
    hint: "Leave the workspace out, or use a token of that one.",
    details: { workspace: actual },
  });
}

export function keyNotSent(name: string): BatonError {
  return new BatonError("invalid_input", {
    message: `The key of agent "${name}" is not sent to a hub over HTTP.`,
    path: "profile.key",
    hint: "Sign where the hub has its store: open it with sqlite: or postgres:. Over HTTP a token says who it is.",
  });
}

/** Checks the address and options of a hub over HTTP before anything is sent. */

import { BatonError } from "../base/errors.ts";
import { isLoopback } from "../base/loopback.ts";
import { trimEndOf } from "../base/trim-end.ts";
import { filesOption, knownMode, sessionTimeout, workspaceName } from "../hub/option-checks.ts";
import type { HubOptions } from "../hub/options.ts";
import { CLIENT_TIMING } from "./connection/timing.ts";

/** Options that a client can set; all others belong to the process that serves the hub. */
const REMOTE_OPTIONS: readonly (keyof HubOptions)[] = [
  "allowInsecure",
  "create",
  "fetch",
  "files",
  "known",
  "outageMs",
  "sessionMs",
  "token",
  "workspace",
];

/**
 * Returns the base URL of requests, without a trailing slash. Throws invalid_input for an invalid address.
 */
export function baseUrlOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw invalidOption(
      "address",
      "must be an http:// or https:// URL",
      "Pass a URL such as http://127.0.0.1:4747.",
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw invalidOption(
      "address",
      "must not contain a user name or password",
      "Pass the token as the option token.",
    );
  }
  if (url.search !== "" || url.hash !== "") {
    throw invalidOption(
      "address",
      "must not contain a query or fragment",
      "Remove everything after ? or #.",
    );
  }
  return url.origin + trimEndOf(url.pathname, "/");
}

/** Throws invalid_input if a token would be sent to another machine where it can be read on the way. */
export function requireSecureToken(
  base: string,
  { token, allowInsecure, fetch }: HubOptions,
): void {
  const { protocol, hostname } = new URL(base);
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol === "https:" || isLoopback(host)) return;
  if (token === undefined || allowInsecure === true || fetch !== undefined) return;
  throw invalidOption(
    "address",
    `must be https:// for a hub on another machine (${hostname}): over http:// its token can be read on the way`,
    "Put a TLS proxy in front of the hub and use its https:// address. In a network that encrypts by itself, pass allowInsecure: true or set BATON_ALLOW_INSECURE_HTTP=1.",
  );
}

/** Throws invalid_input for an option that is invalid or not for a hub over HTTP. */
export function requireRemoteOptions(options: HubOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || REMOTE_OPTIONS.includes(name as keyof HubOptions)) continue;
    throw invalidOption(
      name,
      "is not allowed for a hub over HTTP, only for a hub in this process",
      "Omit it here, and set it in the process that serves the hub.",
    );
  }
  if (options.workspace !== undefined) workspaceName(options);
  sessionTimeout(options);
  filesOption(options);
  knownMode(options);
  const { token, outageMs = CLIENT_TIMING.outageMs } = options;
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw invalidOption(
      "token",
      "must contain only printable ASCII characters without spaces",
      "Check the token for a line break.",
    );
  }
  if (!Number.isFinite(outageMs) || outageMs < 0) {
    throw invalidOption(
      "outageMs",
      "must be a number of milliseconds, 0 or more",
      "Pass 0 to disable retries.",
    );
  }
}

function invalidOption(path: string, rule: string, hint: string): BatonError {
  return new BatonError("invalid_input", { message: `The option ${path} ${rule}.`, path, hint });
}

/** The error of a token that belongs to another workspace. */
export function workspaceMismatch(asked: string, actual: string): BatonError {
  return new BatonError("invalid_input", {
    message: `The token is for workspace "${actual}", not for "${asked}".`,
    path: "workspace",
    hint: "Omit workspace, or use a token for that workspace.",
    details: { workspace: actual },
  });
}

/** The error of a private key in a profile, which is never sent. */
export function keyNotSent(name: string): BatonError {
  return new BatonError("invalid_input", {
    message: `The private key of agent "${name}" cannot be used with a hub over HTTP.`,
    path: "profile.key",
    hint: "Omit profile.key and authenticate with a token, or open the store directly (sqlite: or postgres:) to sign.",
  });
}

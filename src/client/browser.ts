/**
 * `batonpass/client` for browsers and edge runtimes. Files, git and archives need Node: those methods throw
 * `dependency_missing` here, and their code is not part of a bundle.
 */
import type { Hub } from "../hub/hub.ts";
import type { ClientOptions } from "./index.ts";
import { openRemoteHub } from "./open.ts";

export { BatonError, isBatonError } from "../base/errors.ts";
export type * from "./index.ts";

/** Opens the hub at an `http://` or `https://` address. Throws `hub_unreachable` or `unauthenticated`. */
export function openHub(address: string, options: ClientOptions = {}): Promise<Hub> {
  return openRemoteHub(address, options, undefined);
}

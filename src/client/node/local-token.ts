/**
 * The token of a hub on this machine, read from the file that the hub writes when it starts. A hub that was
 * restarted has another token, so the file is read again after a second, and when the hub refuses the token.
 */
import { readFileSync } from "node:fs";
import { localHubFiles } from "../../base/local-hubs.ts";
import { isLoopback } from "../../base/loopback.ts";
import type { TokenSource } from "../connection/connection.ts";

const CACHE_MS = 1_000;

/** Returns the source of the token for this address; undefined if the address is not on this machine. */
export function localTokenSource(address: string): TokenSource | undefined {
  const { protocol, hostname, port } = new URL(address);
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol !== "http:" || !isLoopback(host)) return undefined;
  const files = namesOf(host).map((name) => localHubFiles(name, Number(port || 80)).token);
  let token: string | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  const read = (): void => {
    readAt = performance.now();
    token = files.map(contentOf).find((text) => text !== undefined);
  };
  return {
    current() {
      if (performance.now() - readAt >= CACHE_MS) read();
      return token;
    },
    renew() {
      const before = token;
      read();
      return token !== undefined && token !== before;
    },
  };
}

/** Returns the names under which a hub that answers to this one may have been started. */
function namesOf(host: string): readonly string[] {
  if (host === "localhost") return ["localhost", "127.0.0.1", "::1"];
  return host === "127.0.0.1" || host === "::1" ? [host, "localhost"] : [host];
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim() || undefined;
  } catch {
    return undefined; // No hub of this user is running there.
  }
}

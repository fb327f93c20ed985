/**
 * Where hubs and clients of one user on one machine meet: `~/.baton/hubs`, a folder that only the user can
 * enter. A hub on loopback creates a new token each time it starts and stores it there under its address, and
 * listens on a Unix socket beside it. A client that opens that address finds the token by itself.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { STORE_FOLDER } from "./files/store-file.ts";

/** The files of one hub. */
export interface LocalHubFiles {
  readonly folder: string;
  /** Contains the token and nothing else. */
  readonly token: string;
  readonly socket: string;
}

/** Returns the paths of the files of the hub at this host and port. */
export function localHubFiles(host: string, port: number): LocalHubFiles {
  const folder = join(homedir(), STORE_FOLDER, "hubs");
  const name = `${encodeURIComponent(host)}_${port}`; // Windows does not allow the colons of IPv6.
  return { folder, token: join(folder, `${name}.token`), socket: join(folder, `${name}.sock`) };
}

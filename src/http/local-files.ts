/**
 * Writes the token of a running hub where clients of the same user find it (base/local-hubs.ts), and deletes
 * it when the hub stops. A file that a killed hub left behind contains a token that no hub accepts; the next
 * hub at that address replaces it.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { BatonError } from "../base/errors.ts";
import { PRIVATE_FOLDER } from "../base/files/private-file.ts";
import { stageFile } from "../base/files/staged-file.ts";
import { type LocalHubFiles, localHubFiles } from "../base/local-hubs.ts";

/** Maximum length of a socket's path: 104 bytes on macOS, 108 on Linux, with the final zero. */
const MAX_SOCKET_PATH = 103;

/** The files of a running hub. */
export interface PublishedToken {
  readonly file: string;
  /** Path for the socket; undefined if this system cannot have it. */
  readonly socket: string | undefined;
  remove(): void;
}

/** Writes the token. The hub must have the port already, so that no running hub loses its file. */
export function publishToken(token: string, host: string, port: number): PublishedToken {
  const files = localHubFiles(host, port);
  writeToken(files, token);
  const hasSockets = process.platform !== "win32";
  const isShort = Buffer.byteLength(files.socket) <= MAX_SOCKET_PATH;
  const socket = hasSockets && isShort ? files.socket : undefined;
  rmSync(files.socket, { force: true }); // Of a hub that was killed.
  return { file: files.token, socket, remove: () => removeToken(files.token, token) };
}

function writeToken({ folder, token: file }: LocalHubFiles, token: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
    const staged = stageFile(file, { replace: true });
    try {
      writeFileSync(staged.path, token);
      staged.place();
    } finally {
      staged.discard();
    }
  } catch (cause) {
    throw new BatonError("file_unusable", {
      message: `The hub cannot store its token for programs of this user in ${file}.`,
      path: file,
      hint: "Make the home folder writable, or start with --require-tokens and create tokens with baton token add.",
      cause,
    });
  }
}

/** Deletes the file unless it contains the token of another hub. */
function removeToken(file: string, token: string): void {
  try {
    if (readFileSync(file, "utf8") === token) rmSync(file, { force: true });
  } catch {
    // Deleted already.
  }
}

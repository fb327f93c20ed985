/**
 * Writes and checks the seal of a backup: one line of text after the last page, with the SHA-256 of
 * everything before it. SQLite ignores everything after the pages that its header counts, so a backup is an
 * ordinary database file, and any changed byte, in a used or unused page, breaks the seal.
 */
import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { appendFile, open, stat } from "node:fs/promises";
import { BatonError } from "../../../base/errors.ts";
import { toFileError } from "../../../base/files/staged-file.ts";

/** The seal of a backup. */
export interface Seal {
  readonly sha256: string;
  /** Size of the pages in bytes, without the seal. */
  readonly bytes: number;
}

const SEAL = /^BATON-BACKUP 1 ([0-9a-f]{64}) ([0-9]{16})\n$/;
const LENGTH = "BATON-BACKUP 1 ".length + 64 + 1 + 16 + 1;

const formatSeal = ({ sha256, bytes }: Seal): string =>
  `BATON-BACKUP 1 ${sha256} ${String(bytes).padStart(16, "0")}\n`;

/** Appends a seal to a file and returns it. */
export async function sealFile(
  file: string,
  onProgress: (done: number, total: number) => void,
): Promise<Seal> {
  const { size: bytes } = await stat(file);
  const hash = createHash("sha256");
  for await (const _ of readHashed(file, { bytes, hash, onProgress }));
  const seal = { sha256: hash.digest("hex"), bytes };
  await appendFile(file, formatSeal(seal), { flush: true });
  return seal;
}

/**
 * Returns the seal at the end of a file. Throws `invalid_backup` if there is none: it is not a backup, or
 * incomplete.
 */
export async function readSeal(file: string): Promise<Seal> {
  const handle = await open(file, "r").catch((error) => {
    throw toFileError(error, file);
  });
  try {
    const { size } = await handle.stat();
    const bytes = Math.max(0, size - LENGTH);
    const { buffer } = await handle.read(Buffer.alloc(LENGTH), 0, LENGTH, bytes);
    const [, sha256, said] = SEAL.exec(buffer.toString("latin1")) ?? [];
    if (sha256 !== undefined && Number(said) === bytes) return { sha256, bytes };
  } finally {
    await handle.close();
  }
  throw new BatonError("invalid_backup", {
    message: `${file} has no seal at its end, so it is not a backup or is incomplete.`,
    path: file,
    hint: "Use another copy; to open the file of a store instead of a backup, pass --store sqlite:<path>.",
  });
}

/** Yields the sealed bytes. Throws `invalid_backup` after the last one if they do not match the seal. */
export async function* sealedBytes(
  file: string,
  seal: Seal,
  onProgress: (done: number, total: number) => void,
): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  yield* readHashed(file, { bytes: seal.bytes, hash, onProgress });
  if (hash.digest("hex") === seal.sha256) return;
  throw new BatonError("invalid_backup", {
    message: `${file} is damaged: its content does not match its seal.`,
    path: file,
    hint: "Use another copy; nothing was changed.",
  });
}

async function* readHashed(
  file: string,
  of: { bytes: number; hash: Hash; onProgress: (done: number, total: number) => void },
): AsyncGenerator<Buffer> {
  if (of.bytes === 0) return;
  let done = 0;
  for await (const chunk of createReadStream(file, { end: of.bytes - 1, highWaterMark: 1 << 20 })) {
    const bytes = chunk as Buffer;
    of.hash.update(bytes);
    done += bytes.length;
    of.onProgress(done, of.bytes);
    yield bytes;
  }
}

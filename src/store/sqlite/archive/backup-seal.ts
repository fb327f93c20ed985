/**
 * The seal of a backup: one line of text after the last page, with the SHA-256 of everything before
 * it. SQLite does not look beyond the pages its header counts, so a backup is an ordinary file; and
 * any byte that changes, in a page that is used or not, breaks the seal.
 */
import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { appendFile, open, stat } from "node:fs/promises";
import { BatonError } from "../../../base/errors.ts";
import { toFileError } from "../../../base/staged-file.ts";

export interface Seal {
  readonly sha256: string;
  /** Of the pages, without the seal. */
  readonly bytes: number;
}

const SEAL = /^BATON-BACKUP 1 ([0-9a-f]{64}) ([0-9]{16})\n$/;
const LENGTH = "BATON-BACKUP 1 ".length + 64 + 1 + 16 + 1;

const formatSeal = ({ sha256, bytes }: Seal): string =>
  `BATON-BACKUP 1 ${sha256} ${String(bytes).padStart(16, "0")}\n`;

/** Seals what is in a file. */
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

/** The seal at the end of a file. What has none is no backup of ours, or not all of one. */
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
    message: `${file} has no seal at its end: it is no backup, or not all of one.`,
    path: file,
    hint: "Use another copy. A store's own file is opened where it is (--store sqlite:<path>).",
  });
}

/** The bytes under the seal, to be written elsewhere; throws after the last one if it is broken. */
export async function* sealedBytes(
  file: string,
  seal: Seal,
  onProgress: (done: number, total: number) => void,
): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  yield* readHashed(file, { bytes: seal.bytes, hash, onProgress });
  if (hash.digest("hex") === seal.sha256) return;
  throw new BatonError("invalid_backup", {
    message: `${file} is damaged: its bytes are not those that were sealed.`,
    path: file,
    hint: "Use another copy. Nothing was changed.",
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

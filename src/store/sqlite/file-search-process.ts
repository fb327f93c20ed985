/**
 * The child process that searches the bytes of a file for texts (started by file-search.ts). It answers once
 * and exits, or exits with the process that started it.
 */
import { closeSync, openSync, readSync } from "node:fs";
import type { FileSearch } from "./file-search.ts";

const CHUNK = 1 << 20;

process.once("disconnect", () => process.exit());
process.once("message", (look: FileSearch) => {
  void search(look).then((held) => process.send?.(held, () => process.disconnect()));
});

/** Reads in chunks that overlap by the longest text, so that matches across a boundary are found. */
async function search({ file, forms }: FileSearch): Promise<boolean> {
  const wanted = forms.map((form) => Buffer.from(form));
  const overlap = Math.max(...wanted.map((bytes) => bytes.length)) - 1;
  const buffer = Buffer.alloc(overlap + CHUNK);
  const handle = openSync(file, "r");
  try {
    for (let kept = 0, at = 0; ; ) {
      const read = readSync(handle, buffer, kept, CHUNK, at);
      if (read === 0) return false;
      const seen = buffer.subarray(0, kept + read);
      if (wanted.some((bytes) => seen.includes(bytes))) return true;
      at += read;
      kept = Math.min(overlap, seen.length);
      seen.copy(buffer, 0, seen.length - kept);
      await new Promise(setImmediate); // Lets "disconnect" through: the parent may have ended.
    }
  } finally {
    closeSync(handle);
  }
}

/** Writes long texts to stdout or to a file. */
import { writeFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Prints with backpressure, because the reader of stdout may be slower. */
export async function printText(text: string | Readable): Promise<void> {
  await pipeline(typeof text === "string" ? Readable.from([text]) : text, process.stdout, {
    end: false,
  });
}

/** Writes a file that appears only when it is complete, readable by its owner only. */
export async function writeTextFile(
  file: string,
  { text, force }: { readonly text: string | Readable; readonly force: boolean },
): Promise<void> {
  const { toFileError: fileFailure, stageFile } = await import("../base/files/staged-file.ts");
  const staged = stageFile(file, { replace: force });
  try {
    await writeFile(staged.path, text);
    staged.place();
  } catch (error) {
    throw fileFailure(error, file);
  } finally {
    staged.discard();
  }
}

/**
 * `npm run example -- <name>`: runs examples/<name>.ts or examples/<name>/main.ts in a separate
 * process, like a user. example-sources.ts resolves "batonpass" to the sources.
 */
import { globSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { runChild } from "./run.mjs";
import { ROOT } from "./tools.ts";

const SOURCES = pathToFileURL(join(import.meta.dirname, "example-sources.ts")).href;
const files = globSync(["*.ts", "*/main.ts"], { cwd: join(ROOT, "examples") });
const known = new Map(files.map((file) => [nameOf(file), file]));
const [name = "", ...args] = process.argv.slice(2);
const wanted = known.get(basename(name, ".ts"));

if (wanted === undefined) {
  console.error(`usage: npm run example -- ${[...known.keys()].sort().join(" | ")}`);
  process.exitCode = 64;
} else {
  const program = join(ROOT, "examples", wanted);
  process.exitCode = await runChild(process.execPath, ["--import", SOURCES, program, ...args]);
}

function nameOf(file: string): string {
  return basename(file) === "main.ts" ? basename(dirname(file)) : basename(file, ".ts");
}

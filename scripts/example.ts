/**
 * `npm run example -- <name>`: runs examples/<name>.ts, or examples/<name>/main.ts, against the
 * sources. The examples import "batonpass" as every user does; here that name leads to src/index.ts,
 * so that nothing has to be built first. (tsconfig.json says the same to the type checker.)
 */
import { globSync } from "node:fs";
import { registerHooks } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "./tools.ts";

const SOURCE = pathToFileURL(join(ROOT, "src", "index.ts")).href;
const files = globSync(["*.ts", "*/main.ts"], { cwd: join(ROOT, "examples") });
const known = new Map(files.map((file) => [nameOf(file), file]));
const wanted = known.get(basename(process.argv[2] ?? "", ".ts"));

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === "batonpass" ? SOURCE : specifier, context),
});

if (wanted === undefined) {
  console.error(`usage: npm run example -- ${[...known.keys()].sort().join(" | ")}`);
  process.exitCode = 64;
} else {
  await import(pathToFileURL(join(ROOT, "examples", wanted)).href);
}

function nameOf(file: string): string {
  return basename(file) === "main.ts" ? basename(dirname(file)) : basename(file, ".ts");
}

/**
 * `npm run example -- <name>`: runs examples/<name>.ts against the sources. The examples import
 * "batonpass" as every user does; here that name leads to src/index.ts, so that nothing has to be
 * built first. (tsconfig.json says the same to the type checker.)
 */
import { globSync } from "node:fs";
import { registerHooks } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "./tools.ts";

const SOURCE = pathToFileURL(join(ROOT, "src", "index.ts")).href;
const known = globSync("*.ts", { cwd: join(ROOT, "examples") }).map((file) =>
  basename(file, ".ts"),
);
const wanted = basename(process.argv[2] ?? "", ".ts");

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === "batonpass" ? SOURCE : specifier, context),
});

if (known.includes(wanted)) {
  await import(pathToFileURL(join(ROOT, "examples", `${wanted}.ts`)).href);
} else {
  console.error(`usage: npm run example -- ${known.sort().join(" | ")}`);
  process.exitCode = 64;
}

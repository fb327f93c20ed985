/** package-lock.json must work for everybody who clones the project, wherever they are. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

interface Entry {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const file = join(import.meta.dirname, "..", "..", "package-lock.json");
const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, Entry> };
const packages = Object.entries(lock.packages).filter(([path]) => path !== "");

describe("package-lock.json", () => {
  it("names no registry but the public one", () => {
    const hosts = packages.flatMap(([, entry]) => entry.resolved ?? []);
    expect(hosts.filter((url) => !url.startsWith("https://registry.npmjs.org/"))).toEqual([]);
  });

  it("has a checksum for every package", () => {
    expect(packages.filter(([, entry]) => !entry.integrity).map(([path]) => path)).toEqual([]);
  });

  // A version whose builds for other systems the registry did not offer when the lock file was
  // written is locked without them, and fails there. vite, rolldown, knip and Biome are pinned to
  // versions that had all of theirs.
  it("has the native builds for every operating system", () => {
    const missing = packages.flatMap(([path, entry]) =>
      Object.keys(entry.optionalDependencies ?? {}).filter(
        (name) =>
          !(`node_modules/${name}` in lock.packages) &&
          !(`${path}/node_modules/${name}` in lock.packages),
      ),
    );
    expect(missing).toEqual([]);
  });
});

/** package-lock.json must work on every system and with the public registry. */

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
  it("uses the public registry only", () => {
    const hosts = packages.flatMap(([, entry]) => entry.resolved ?? []);
    expect(hosts.filter((url) => !url.startsWith("https://registry.npmjs.org/"))).toEqual([]);
  });

  it("has a checksum for every package", () => {
    expect(packages.filter(([, entry]) => !entry.integrity).map(([path]) => path)).toEqual([]);
  });

  // npm locks a version without the native builds that the registry did not offer when the lock
  // file was written, and the installation fails on those systems. vite, rolldown, knip and Biome
  // are pinned to versions that had all of their builds.
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

/**
 * Checks the import graph of src/ against the layers of docs/ARCHITECTURE.md. A folder imports from
 * itself and from folders below it, and nothing else; type imports count.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "src");

/** From the bottom up. Folders on one line do not import each other. */
const LAYERS: readonly (readonly string[])[] = [
  ["base"],
  ["envelope", "search"],
  ["text"],
  ["store"],
  ["store/sql", "store/verify"],
  ["store/sqlite", "store/postgres"],
  ["workspace"],
  ["memory"],
  ["ledger"],
  ["history"],
  ["profiles"],
  ["shared-context"],
  ["context/detail"],
  ["context/view"],
  ["context/lint"],
  ["delivery/settings"],
  ["delivery/due"],
  ["delivery/send", "delivery/watch"],
  ["delivery/settle"],
  ["delivery/receive"],
  ["delivery/work"],
  ["coordination/reservations", "coordination/shared-context", "coordination/catch-up"],
  ["coordination/tasks"],
  ["coordination/failures", "coordination/timeline"],
  ["coordination"],
  ["archive"],
  ["access"],
  ["hub"],
  ["operations"],
  ["client"],
  ["open"],
  ["mcp", "harness"],
  ["http"],
  ["cli", "testing"],
];

/** Packages that a pure folder may use. Folders that are not listed may use any dependency. */
const PURE: Readonly<Record<string, readonly string[]>> = {
  envelope: ["zod", "ajv", "node:crypto"],
  search: ["stemmer", "node:assert", "node:fs", "node:url"],
  text: ["gpt-tokenizer"],
};

interface Import {
  readonly from: string;
  readonly to: string;
  /** True if only types are imported: these are erased and cannot create a cycle of modules. */
  readonly isType: boolean;
}

/** Returns the files in a folder, relative to src/. */
const filesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));

const IMPORT =
  /^(?:import|export)\b[^;]*?\bfrom\s+"([^"]+)";|^import\s+"([^"]+)";|\bimport\(\s*"([^"]+)"\)/gm;

const importsOf = (sources: readonly string[]): Import[] =>
  sources.flatMap((from) => {
    const text = readFileSync(join(ROOT, from), "utf8");
    return [...text.matchAll(IMPORT)].map(([statement, named, bare, lazy]) => ({
      from,
      to: targetOf(from, named ?? bare ?? lazy ?? ""),
      isType: /^(import|export) type /.test(statement) || lazy !== undefined,
    }));
  });

const files = filesIn(".");
const imports = importsOf(files);

function targetOf(from: string, specifier: string): string {
  return specifier.startsWith(".") ? posix.join(dirname(from), specifier) : specifier;
}

/** Returns the longest folder of LAYERS that contains a file; undefined for src/index.ts. */
function folderOf(file: string): string | undefined {
  const folders = LAYERS.flat().filter((folder) => file.startsWith(`${folder}/`));
  return folders.toSorted((a, b) => b.length - a.length)[0];
}

const heightOf = (folder: string): number => LAYERS.findIndex((layer) => layer.includes(folder));

const isOurs = (file: string): boolean => file.endsWith(".ts") && !file.startsWith("../");

/**
 * Returns the files in import cycles: what remains when files that import nothing or are not
 * imported are removed repeatedly.
 */
function cyclicFiles(): readonly string[] {
  let left = new Set(files);
  for (;;) {
    const edges = imports.filter(
      ({ from, to, isType }) => !isType && left.has(from) && left.has(to),
    );
    const importing = new Set(edges.map(({ from }) => from));
    const imported = new Set(edges.map(({ to }) => to));
    const inner = new Set([...left].filter((file) => importing.has(file) && imported.has(file)));
    if (inner.size === left.size) return [...left];
    left = inner;
  }
}

describe("the layers of src/", () => {
  it("are checked with the imports of every file", () => {
    expect(files.length).toBeGreaterThan(100);
    expect(imports.length).toBeGreaterThan(files.length);
  });

  it("contain every folder", () => {
    const homeless = files.filter((file) => file.includes("/") && folderOf(file) === undefined);
    expect(homeless).toEqual([]);
  });

  it("import downward only", () => {
    const upward = imports.filter(({ from, to }) => {
      const [folder, target] = [folderOf(from), folderOf(to)];
      if (!isOurs(to) || folder === undefined || folder === target) return false;
      return target === undefined || heightOf(target) >= heightOf(folder);
    });
    const edges = new Set(upward.map(({ from, to }) => `${from} > ${to}`));
    expect([...edges]).toEqual([]);
  });

  it("have no import cycles between files", () => {
    expect(cyclicFiles()).toEqual([]);
  });

  it("keep store implementations out of everything but the modules that open a hub", () => {
    const opening = /^(store\/(sqlite|postgres)|open|cli|testing)\b/;
    const leaks = imports.filter(
      ({ from, to }) => /^store\/(sqlite|postgres)\//.test(to) && !opening.test(from),
    );
    expect(leaks).toEqual([]);
  });

  it("import the reference store only to open a hub in memory", () => {
    const outside = imports.filter(({ to }) => to.startsWith("../"));
    expect(outside.map(({ from, to }) => `${from} > ${to}`).sort()).toEqual([
      "open/open-hub.ts > ../store-contract/reference/open.ts",
      "testing/memory-hub.ts > ../store-contract/reference/open.ts",
    ]);
  });

  it("let the reference store import what the other stores may", () => {
    const below = new Set(LAYERS.slice(0, heightOf("store/sqlite")).flat());
    const reference = importsOf(filesIn("../store-contract/reference"));
    const upward = reference.filter(({ to }) => isOurs(to) && !below.has(folderOf(to) ?? ""));
    expect(reference.length).toBeGreaterThan(20);
    expect(upward).toEqual([]);
  });

  it("keep pure folders pure", () => {
    const impure = imports.filter(({ from, to }) => {
      const allowed = PURE[folderOf(from) ?? ""];
      return (
        allowed !== undefined &&
        !isOurs(to) &&
        !allowed.includes(to.replace(/^((?!@|node:)[^/]+)\/.*/, "$1"))
      );
    });
    expect(impure).toEqual([]);
  });

  it("have at most 25 files in a folder", () => {
    const counts = Map.groupBy(files, dirname);
    const full = [...counts].filter(([, inside]) => inside.length > 25);
    expect(full.map(([folder, { length }]) => `${folder}: ${length}`)).toEqual([]);
  });
});

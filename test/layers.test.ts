/**
 * Checks the import graph of src/ against the layers of docs/ARCHITECTURE.md. A folder imports from itself
 * and from folders below it, and nothing else; type imports count.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "src");

/** From the bottom up. Folders on one line do not import each other. */
const LAYERS: readonly (readonly string[])[] = [
  ["base"],
  ["envelope", "search"],
  ["store"],
  ["store/sql", "store/verify"],
  ["store/reference", "store/sqlite", "store/postgres"],
  ["workspace"],
  ["memory"],
  ["ledger"],
  ["context"],
  ["delivery"],
  ["coordination"],
  ["archive"],
  ["access"],
  ["hub"],
  ["wire"],
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
};

/** Imports that still point up; each is to be removed. */
const UPWARD: readonly string[] = [
  "access/tokens.ts > hub/public.ts",
  "cli/commands/handoffs/failure.ts > index.ts",
  "cli/commands/hub/schema.ts > index.ts",
  "cli/commands/tasks/ledger.ts > index.ts",
  "cli/commands/tasks/task.ts > index.ts",
  "context/attempt-text.ts > delivery/earlier-attempts.ts",
  "context/attempt-text.ts > delivery/failure.ts",
  "context/catch-up.ts > coordination/shared-context/offered.ts",
  "context/catch-up.ts > delivery/waiting.ts",
  "context/gather.ts > coordination/shared-context/offered.ts",
  "context/gather.ts > delivery/earlier-attempts.ts",
  "context/gather.ts > delivery/work-branch.ts",
  "context/handoff-part.ts > delivery/earlier-attempts.ts",
  "context/handoff-part.ts > delivery/unknown-delivery.ts",
  "context/lint-rules.ts > delivery/plan.ts",
  "context/lint-rules.ts > delivery/repeats.ts",
  "context/lint-sent.ts > delivery/repeats.ts",
  "context/lint.ts > delivery/repeats.ts",
  "context/lint.ts > delivery/routes.ts",
  "context/lint/repeats-handoff.ts > delivery/repeats.ts",
  "context/lint/rule.ts > delivery/repeats.ts",
  "context/open-handoff.ts > delivery/waiting.ts",
  "context/open-handoff.ts > delivery/warnings.ts",
  "context/open-matters.ts > delivery/ask.ts",
  "context/pieces.ts > delivery/earlier-attempts.ts",
  "context/preview.ts > delivery/plan.ts",
  "context/preview.ts > delivery/prepare.ts",
  "context/preview.ts > delivery/require-registered.ts",
  "context/primer.ts > delivery/background.ts",
  "context/reading.ts > delivery/named.ts",
  "context/recipe.ts > delivery/earlier-attempts.ts",
  "context/summary.ts > delivery/system.ts",
  "coordination/shared-context/adopt.ts > hub/work.ts",
  "coordination/shared-context/propose.ts > hub/sent.ts",
  "coordination/tasks/add.ts > hub/sent.ts",
  "delivery/check-draft.ts > coordination/reservations/globs.ts",
  "delivery/inbox.ts > hub/offer.ts",
  "delivery/join-handoffs.ts > hub/sent.ts",
  "delivery/person.ts > hub/sent.ts",
  "delivery/person.ts > hub/work.ts",
  "ledger/brief.ts > delivery/plan.ts",
  "ledger/dependencies.ts > delivery/plan.ts",
  "ledger/ledger-line.ts > delivery/plan.ts",
  "store/archive.ts > store/verify/audit.ts",
];

/** Folders that still have more files. */
const FULL: readonly string[] = [
  "client: 30",
  "context: 44",
  "delivery: 75",
  "http: 26",
  "testing/contract: 33",
];

interface Import {
  readonly from: string;
  readonly to: string;
}

const files = readdirSync(ROOT, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));

const IMPORT =
  /^(?:import|export)\b[^;]*?\bfrom\s+"([^"]+)";|^import\s+"([^"]+)";|\bimport\("([^"]+)"\)/gm;

const imports: readonly Import[] = files.flatMap((from) => {
  const text = readFileSync(join(ROOT, from), "utf8");
  return [...text.matchAll(IMPORT)].map(([, named, bare, lazy]) => ({
    from,
    to: targetOf(from, named ?? bare ?? lazy ?? ""),
  }));
});

function targetOf(from: string, specifier: string): string {
  return specifier.startsWith(".") ? posix.join(dirname(from), specifier) : specifier;
}

/** The longest folder of LAYERS that a file is in; undefined for src/index.ts. */
function folderOf(file: string): string | undefined {
  const folders = LAYERS.flat().filter((folder) => file.startsWith(`${folder}/`));
  return folders.toSorted((a, b) => b.length - a.length)[0];
}

const heightOf = (folder: string): number => LAYERS.findIndex((layer) => layer.includes(folder));

const isOurs = (file: string): boolean => file.endsWith(".ts");

describe("the layers of src/", () => {
  it("sees the imports of every file", () => {
    expect(files.length).toBeGreaterThan(100);
    expect(imports.length).toBeGreaterThan(files.length);
  });

  it("gives every folder its layer", () => {
    const homeless = files.filter((file) => file.includes("/") && folderOf(file) === undefined);
    expect(homeless).toEqual([]);
  });

  it("imports downward only", () => {
    const upward = imports.filter(({ from, to }) => {
      const [folder, target] = [folderOf(from), folderOf(to)];
      if (!isOurs(to) || folder === undefined || folder === target) return false;
      return target === undefined || heightOf(target) >= heightOf(folder);
    });
    const edges = new Set(upward.map(({ from, to }) => `${from} > ${to}`));
    expect([...edges].sort()).toEqual([...UPWARD].sort());
  });

  it("keeps store implementations out of everything but what opens a hub", () => {
    const opening = /^(store\/(sqlite|postgres|reference)|open|cli|testing)\b/;
    const leaks = imports.filter(
      ({ from, to }) => /^store\/(sqlite|postgres|reference)\//.test(to) && !opening.test(from),
    );
    expect(leaks).toEqual([]);
  });

  it("keeps pure folders pure", () => {
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

  it("has at most 25 files in a folder", () => {
    const counts = Map.groupBy(files, dirname);
    const full = [...counts].filter(([, inside]) => inside.length > 25);
    expect(full.map(([folder, { length }]) => `${folder}: ${length}`)).toEqual(FULL);
  });
});

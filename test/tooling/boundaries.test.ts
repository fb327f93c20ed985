/**
 * Imports point down only: doors → hub → domain rooms → store interface and envelope → root leaf
 * files. biome.json says so per folder; here every edge is put before Biome, in a copy of the
 * source tree that consists of nothing but imports.
 */

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");

const ROOMS = ["memory", "context", "delivery", "coordination", "observe", "keeping", "access"];
const DOORS = ["http", "mcp", "cli", "harness"];
const STORES = ["reference", "sqlite", "postgres"];
const FOLDERS = [
  "envelope",
  "meaning",
  "recall",
  "store",
  ...ROOMS,
  ...DOORS,
  "wire",
  "client",
  "adapters",
  "testing",
];

const leaves = ["errors", "clock", "ids", "limits", "canonical"].map((name) => `src/${name}.ts`);
const envelope = "src/envelope/schema.ts";
const storeInterface = ["src/store/store.ts", "src/store/rows.ts"];
const [reference, sqlite, postgres] = [
  "src/store/reference/open.ts",
  "src/store/sqlite/open.ts",
  "src/store/postgres/open.ts",
];
const stores = [reference, sqlite, postgres];
const rooms = ROOMS.map((name) => `src/${name}/room.ts`);
const doors = DOORS.map((name) => `src/${name}/door.ts`);
const [http, mcp, cli, harness] = doors as [string, string, string, string];
const testing = "src/testing/kit.ts";
const hub = "src/hub.ts";
const openHub = "src/open-hub.ts";
const above = [
  ...doors,
  "src/wire/calls.ts",
  "src/client/client.ts",
  "src/adapters/adapter.ts",
  testing,
];

type Statements = Readonly<Record<string, readonly (readonly [from: string[], to: string[]])[]>>;

const FORBIDDEN: Statements = {
  "a root leaf file imports no other part": [
    [leaves, [envelope, ...storeInterface, ...stores, ...rooms, hub, openHub, "src/index.ts"]],
    [leaves, above],
  ],
  "the envelope is pure": [
    [
      [envelope, "src/envelope/versions/v2.ts"],
      [...storeInterface, ...stores, ...rooms, ...above, hub, openHub, "node:fs", "gpt-tokenizer"],
    ],
  ],
  "what turns text into vectors knows nothing of what is stored": [
    [
      ["src/meaning/embedder.ts"],
      [envelope, ...storeInterface, ...stores, ...rooms, ...above, hub, openHub],
    ],
  ],
  "ranking is pure": [
    [
      ["src/recall/rank.ts"],
      [envelope, ...storeInterface, ...stores, ...rooms, ...above, hub, openHub, "node:fs", "zod"],
    ],
  ],
  "a store knows neither rooms nor hub": [
    [
      [...storeInterface, ...stores, "src/store/sqlite/migrations/one.ts"],
      [...rooms, ...above, hub, openHub],
    ],
  ],
  "the store interface knows no implementation": [[storeInterface, stores]],
  "no store implementation imports another": [
    [["src/store/reference/other.ts"], [sqlite, postgres]],
    [
      ["src/store/sqlite/other.ts", "src/store/sqlite/migrations/two.ts"],
      [reference, postgres],
    ],
    [["src/store/postgres/other.ts"], [reference, sqlite]],
  ],
  "a domain room knows neither hub, doors nor a store implementation": [
    [
      [...rooms, "src/memory/recall/ranking.ts"],
      [...stores, ...above, hub, openHub],
    ],
  ],
  "the hub knows neither doors nor a store implementation": [
    [[hub], [...stores, ...above, openHub, "src/index.ts"]],
  ],
  "opening a hub needs no door": [[[openHub], [...doors, testing]]],
  "the library's entry brings no store, command line or test kit along": [
    [["src/index.ts"], [...stores, cli, testing]],
  ],
  "a door calls the hub it is given, never a store": [
    [
      [http, mcp, harness, "src/wire/calls.ts", "src/client/client.ts", "src/adapters/adapter.ts"],
      [...stores, openHub, testing],
    ],
    [[http, mcp, harness], [cli]],
  ],
  "only the test kit uses a test framework, and only vitest": [
    [[testing], ["fast-check"]],
    [
      [hub, ...rooms, ...stores, http, cli],
      ["vitest", "fast-check"],
    ],
  ],
};

const ALLOWED: Statements = {
  "root leaf files import each other": [[["src/ids.ts"], ["src/errors.ts", "node:crypto"]]],
  "the envelope uses leaf files, zod, ajv and node:crypto": [
    [
      [envelope, "src/envelope/versions/v2.ts"],
      [...leaves, "src/envelope/digest.ts", "zod", "ajv", "node:crypto"],
    ],
  ],
  "vectors are made with leaf files only, and stores compare them": [
    [["src/meaning/embedder.ts"], [...leaves, "src/meaning/signature.ts", "node:fs"]],
    [[...stores, ...rooms], ["src/meaning/quantise.ts"]],
  ],
  "ranking uses leaf files and a stemmer, and stores rank with it": [
    [["src/recall/rank.ts"], [...leaves, "src/recall/match.ts", "stemmer"]],
    [[...storeInterface, ...stores, ...rooms], ["src/recall/rank.ts"]],
  ],
  "a store uses the envelope, its interface and its own files": [
    [storeInterface, [...leaves, envelope, "src/store/outcomes.ts"]],
    [stores, [...leaves, envelope, ...storeInterface, "node:fs"]],
    [["src/store/sqlite/migrations/one.ts"], [sqlite]],
  ],
  "a domain room uses the store interface, the envelope and other rooms": [
    [
      [...rooms, "src/memory/recall/ranking.ts"],
      [...leaves, envelope, ...storeInterface, "gpt-tokenizer"],
    ],
    [["src/delivery/send.ts"], ["src/memory/room.ts", "src/context/room.ts"]],
  ],
  "the hub uses rooms": [[[hub], [...leaves, envelope, ...storeInterface, ...rooms]]],
  "doors use the hub, and know the shapes of what is stored": [
    [doors, [hub, envelope, ...leaves, ...storeInterface]],
    [[http, "src/client/client.ts"], ["src/wire/calls.ts"]],
  ],
  "open-hub, command line and test kit choose a store": [
    [
      [openHub, cli, testing],
      [...stores, hub],
    ],
    [[openHub], ["src/client/client.ts"]],
    [[cli], [openHub, http, mcp, harness]],
    [[testing], ["vitest"]],
    [["src/index.ts"], [openHub, hub, ...leaves]],
  ],
};

type Edge = readonly [from: string, to: string];

const IMPORT_RULES = /noRestrictedImports|noUndeclaredDependencies/;

interface Diagnostic {
  readonly category: string;
  readonly location: { readonly path: string; readonly start: { readonly line: number } };
}

/** The specifier with which `from` imports `to`: a file of the tree, or a package. */
function specifier(from: string, to: string): string {
  if (!to.startsWith("src/")) return to;
  const path = posix.relative(posix.dirname(from), to);
  return path.startsWith(".") ? path : `./${path}`;
}

/** Every pair of a statement; no file imports itself. */
function edgesOf(lists: Statements[string]): Edge[] {
  return lists.flatMap(([froms, tos]) =>
    froms.flatMap((from) => tos.filter((to) => to !== from).map((to): Edge => [from, to])),
  );
}

describe("import boundaries", () => {
  const sources = new Map<string, string[]>();
  const refused = new Set<string>();
  let tree: string;

  const lineOf = (from: string, to: string): number => {
    const lines = sources.get(from) ?? [];
    sources.set(from, lines);
    const line = `import "${specifier(from, to)}";`;
    const known = lines.indexOf(line);
    return known === -1 ? lines.push(line) : known + 1;
  };

  beforeAll(async () => {
    tree = mkdtempSync(join(tmpdir(), "baton-boundaries-"));
    for (const lists of [...Object.values(FORBIDDEN), ...Object.values(ALLOWED)]) {
      for (const [from, to] of edgesOf(lists)) lineOf(from, to);
    }
    sources.set("src/memory/one.ts", ['import "../delivery/two.ts";']);
    sources.set("src/delivery/two.ts", ['import "../memory/one.ts";']);
    sources.set("src/memory/environment.ts", ["export const home = process.env.HOME;"]);
    for (const [path, lines] of sources) write(path, lines.join("\n"));
    for (const file of ["biome.json", "package.json", ".gitignore"]) {
      cpSync(join(ROOT, file), join(tree, file));
    }
    for (const { category, location } of await lint()) {
      refused.add(`${location.path}:${location.start.line} ${category.split("/").at(-1)}`);
    }
  });

  afterAll(() => rmSync(tree, { recursive: true, force: true }));

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), `${text}\n`);
  }

  function lint(): Promise<readonly Diagnostic[]> {
    const biome = join(ROOT, "node_modules/@biomejs/biome/bin/biome");
    const args = [biome, "lint", "--reporter=json", "--max-diagnostics=none", "."];
    return new Promise((resolve) => {
      execFile(process.execPath, args, { cwd: tree, maxBuffer: 2 ** 26 }, (_error, stdout) => {
        resolve((JSON.parse(stdout) as { diagnostics: readonly Diagnostic[] }).diagnostics);
      });
    });
  }

  function isRefused([from, to]: Edge): boolean {
    const place = `${from}:${lineOf(from, to)} `;
    return [...refused].some((entry) => entry.startsWith(place) && IMPORT_RULES.test(entry));
  }

  it.each(Object.entries(FORBIDDEN))("forbidden: %s", (_, lists) => {
    expect(edgesOf(lists).filter((edge) => !isRefused(edge))).toEqual([]);
  });

  it.each(Object.entries(ALLOWED))("allowed: %s", (_, lists) => {
    expect(edgesOf(lists).filter(isRefused)).toEqual([]);
  });

  it("rooms may import each other, but not in a circle", () => {
    expect(refused).toContain("src/memory/one.ts:1 noImportCycles");
    expect(refused).not.toContain("src/memory/one.ts:1 noRestrictedImports");
  });

  it("only the composition roots read the environment", () => {
    expect(refused).toContain("src/memory/environment.ts:1 noProcessEnv");
  });

  it("every folder of src has its place in the order", () => {
    expect(FOLDERS).toEqual(expect.arrayContaining(foldersIn("src")));
    // verify/ and sql/ are common to all stores, like the files beside them.
    expect([...STORES, "sql", "verify"]).toEqual(expect.arrayContaining(foldersIn("src/store")));
  });
});

function foldersIn(path: string): string[] {
  return readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

/**
 * `npm run build`, its sources: compiled and put together, because a harness starts `baton hook` for every
 * call of a tool, and most of that start was finding and opening 470 small files. What is published for
 * people (the package's entries) and what is started by its path (threads, processes) stays a file where its
 * source is; the rest goes into a few chunks that all of them share, so that there is one copy of everything.
 * What is imported when it is needed still is. Nothing is minified: stack traces are read.
 */
import { copyFileSync, mkdirSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { type Plugin, rolldown } from "rolldown";
import { ROOT } from "./tools.ts";

const SOURCES = join(ROOT, "src");

/** What package.json names, besides the store contract and the client. */
const PUBLISHED = ["index", "testing/index", "cli/main"];
/** Threads and processes of a store: they start without the hub, and load nothing of it. */
const STANDALONE_ENTRIES = [
  "store/sql/query-process",
  "store/sql/watchdog-thread",
  "store/sqlite/file-search-process",
  "store/sqlite/search/housekeeper-thread",
  "store/sqlite/search/searcher-thread",
];
const ENTRIES = [...PUBLISHED, ...STANDALONE_ENTRIES, "cli/demo/crashing-executor"];

const sourceOf = (entry: string): string => join(SOURCES, `${entry}.ts`);
const standaloneSources = new Set(STANDALONE_ENTRIES.map(sourceOf));

/**
 * Each with all it imports, but for what an earlier one has: what starts early must not wait for what
 * starts later. `baton --version` needs the first two, a thread the first and the third.
 */
const CHUNKS = [
  { name: "base", test: /[\\/]src[\\/]base[\\/](errors|nearest|version)\.ts$/ },
  { name: "command", test: /[\\/]src[\\/]cli[\\/](run|dispatch|failure|command|terminal)\.ts$/ },
  { name: sqliteChunkOf, debugName: "sqlite" },
  { name: "hub", test: /[\\/]src[\\/]open[\\/]open-hub\.ts$/ },
];

/**
 * Packages that are copied into the chunks instead of installed beside them.
 *
 * - zod: every start needs it, and it is 95 files (45 ms of a hook). Only our own checks use this copy; a
 *   user's schema is called through the Standard Schema interface, whichever zod it is from. It remains a
 *   dependency, because exported types refer to it.
 * - gpt-tokenizer: 30 MB installed, of which three tables of ranks (3.4 MB) are used.
 * - smol-toml: small, and used only by `baton setup codex` and `baton doctor`.
 * - the MCP SDK: 8.5 MB installed, half of it source maps; 0.8 MB is used.
 */
const BUNDLED = [
  "zod",
  "gpt-tokenizer",
  "smol-toml",
  "@modelcontextprotocol/server",
  "@modelcontextprotocol/core",
];
const isBundled = (id: string): boolean =>
  BUNDLED.some((name) => id === name || id.startsWith(`${name}/`));

/** The HTTP client: a build of its own, because it runs on Node 20 and in browsers and shares no chunk. */
const CLIENT = ["client/index", "client/browser"];
const CLIENT_TARGET = "es2022";

interface Graph {
  getModuleInfo(id: string): { readonly importers: readonly string[] } | null;
}

function sqliteChunkOf(id: string, graph: Graph): string | null {
  const importers = graph.getModuleInfo(id)?.importers ?? [];
  return importers.some((importer) => standaloneSources.has(importer)) ? "sqlite" : null;
}

/** Stands for a place in dist/ until it is known from where it is looked for. */
const DIST_PLACEHOLDER = "in-dist:";

/** Whatever chunk a source comes into: its `import.meta` means the place it would have had of its own. */
const preserveImportMeta: Plugin = {
  name: "own places",
  transform(code, id) {
    if (!(id.startsWith(SOURCES) && code.includes("import.meta."))) return null;
    const place = toPosixPath(relative(SOURCES, id)).replace(/\.ts$/, ".js");
    const moved = code.replaceAll(/\bimport\.meta\.(\w+)/g, (_, name: string) =>
      importMetaExpression(name, place),
    );
    return { code: moved, map: null }; // Line by line as it was.
  },
  renderChunk(code, { fileName }) {
    if (!code.includes(`"${DIST_PLACEHOLDER}`)) return null;
    const here = dirname(fileName);
    const found = code.replaceAll(
      new RegExp(`"${DIST_PLACEHOLDER}([^"]+)"`, "g"),
      (_, place: string) => JSON.stringify(toPosixPath(relative(here, place))),
    );
    return { code: found, map: null };
  },
};

/** The tokenizer's tables as JSON files: smaller than the array literals they are published as, and parsed faster. */
const ranksAsJson: Plugin = {
  name: "ranks as JSON",
  load: {
    filter: { id: /gpt-tokenizer[\\/]esm[\\/]bpeRanks[\\/]\w+\.js$/ },
    async handler(id) {
      const { default: ranks } = (await import(pathToFileURL(id).href)) as { default: unknown[] };
      const unused = [...ranks.keys()].filter((rank) => !(rank in ranks)); // JSON has no holes.
      const fileName = `ranks/${basename(id, ".js")}.json`;
      this.emitFile({ type: "asset", fileName, source: JSON.stringify(ranks) });
      const url = `new URL("${DIST_PLACEHOLDER}${fileName}", import.meta.url)`;
      return `import { readFileSync } from "node:fs";
const ranks = JSON.parse(readFileSync(${url}, "utf8"));
for (const rank of [${unused}]) delete ranks[rank];
export default ranks;`;
    },
  },
};

function importMetaExpression(name: string, place: string): string {
  const url = `new URL("${DIST_PLACEHOLDER}${place}", import.meta.url)`;
  const path = (of: string) => `process.getBuiltinModule("node:url").fileURLToPath(${of})`;
  switch (name) {
    case "url":
      return `${url}.href`;
    case "filename":
      return path(url);
    case "dirname":
      return path(`new URL(".", ${url})`);
    case "main":
      return `(process.argv[1] === ${path(url)})`;
    default:
      throw new Error(`${place} asks for import.meta.${name}: say here what it means in a chunk`);
  }
}

function toPosixPath(path: string): string {
  return path.replaceAll(sep, "/");
}

export interface BundleOptions {
  /** The folder that gets the files. */
  readonly dir: string;
  /** Programs besides the package's own, by the place they get in the folder. */
  readonly programs?: Readonly<Record<string, string>>;
}

/** Writes the bundle, and the licences of the packages in it. */
export async function bundleSources({ dir, programs = {} }: BundleOptions): Promise<void> {
  await using bundle = await rolldown({
    input: {
      ...Object.fromEntries(ENTRIES.map((entry) => [entry, sourceOf(entry)])),
      "store-contract/index": join(ROOT, "store-contract/index.ts"),
      ...programs,
    },
    platform: "node",
    external: (id) => /^[\w@]/.test(id) && !isBundled(id),
    plugins: [preserveImportMeta, ranksAsJson],
    checks: { ineffectiveDynamicImport: false }, // One part needs at once what another can wait for.
    onLog(level, log) {
      if (level === "warn") throw new Error(log.message);
    },
  });
  await bundle.write({
    dir,
    format: "esm",
    chunkFileNames: "chunks/[name]-[hash].js",
    codeSplitting: { groups: CHUNKS },
    minify: false,
    minifyInternalExports: false,
  });
  await bundleClient(dir);
  for (const name of BUNDLED) copyLicense(name, join(dir, "licenses"));
}

/** What it loads only in Node (files, archives) are chunks beside it, and import zod as a package. */
async function bundleClient(dir: string): Promise<void> {
  await using bundle = await rolldown({
    input: Object.fromEntries(CLIENT.map((entry) => [entry, sourceOf(entry)])),
    platform: "neutral",
    external: /^(?:node:|zod$)/,
    transform: { target: CLIENT_TARGET },
    onLog(level, log) {
      if (level === "warn") throw new Error(log.message);
    },
  });
  await bundle.write({
    dir,
    format: "esm",
    chunkFileNames: "client/chunks/[name]-[hash].js",
    minify: false,
    minifyInternalExports: false,
  });
}

function copyLicense(name: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name.replace("/", "-")}.txt`);
  copyFileSync(join(ROOT, "node_modules", name, "LICENSE"), file);
}

if (import.meta.main) await bundleSources({ dir: join(ROOT, "dist") });

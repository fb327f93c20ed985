/**
 * Compiles and bundles the sources (`npm run build`). A harness starts `baton hook` for every tool
 * call, and most of that startup time was spent finding and opening 470 small files. Public entries
 * and files that are started by path (threads, processes) keep the path of their source; everything
 * else goes into a few shared chunks, so that there is one copy of each module. Dynamic imports
 * stay dynamic. Nothing is minified, to keep stack traces readable.
 */
import { copyFileSync, mkdirSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { type Plugin, rolldown } from "rolldown";
import { ROOT } from "./tools.ts";

const SOURCES = join(ROOT, "src");

/** The entries in package.json, except the store contract and the client. */
const PUBLIC_ENTRIES = ["index", "testing/index", "cli/main"];
/** Threads and processes, which load nothing of the hub. */
const STANDALONE_ENTRIES = [
  "store/sql/query-process",
  "store/sql/watchdog-thread",
  "store/sqlite/file-search-process",
  "store/sqlite/search/housekeeper-thread",
  "store/sqlite/search/searcher-thread",
  "memory/redaction/scan-thread",
];
const ENTRIES = [...PUBLIC_ENTRIES, ...STANDALONE_ENTRIES, "cli/demo/crashing-executor"];

const sourceOf = (entry: string): string => join(SOURCES, `${entry}.ts`);
const standaloneSources = new Set(STANDALONE_ENTRIES.map(sourceOf));

/**
 * The chunks, each with everything it imports except what an earlier chunk has: code that is needed
 * early must not load code that is needed later. `baton --version` needs the first two chunks, a
 * thread the first and the third.
 */
const CHUNKS = [
  { name: "base", test: /[\\/]src[\\/]base[\\/](errors|nearest|version)\.ts$/ },
  { name: "command", test: /[\\/]src[\\/]cli[\\/](run|dispatch|failure|command|terminal)\.ts$/ },
  { name: sqliteChunkOf, debugName: "sqlite" },
  { name: "hub", test: /[\\/]src[\\/]open[\\/]open-hub\.ts$/ },
];

/**
 * Packages that are bundled instead of installed as dependencies.
 *
 * - zod: needed at every start, and consists of 95 files (45 ms of a hook). Only Baton's own checks
 *   use this copy; schemas of users are called through the Standard Schema interface, with any
 *   version of zod. It remains a dependency, because exported types refer to it.
 * - gpt-tokenizer: 30 MB installed, of which three rank tables (3.4 MB) are used.
 * - smol-toml: small, and only used by `baton setup codex` and `baton doctor`.
 * - the MCP SDK: 8.5 MB installed, half of it source maps; 0.8 MB is used.
 */
const BUNDLED_PACKAGES = [
  "zod",
  "gpt-tokenizer",
  "smol-toml",
  "@modelcontextprotocol/server",
  "@modelcontextprotocol/core",
];
const isBundled = (id: string): boolean =>
  BUNDLED_PACKAGES.some((name) => id === name || id.startsWith(`${name}/`));

/** The HTTP client is a separate build: it runs on Node 20 and in browsers and shares no chunk. */
const CLIENT = ["client/index", "client/browser"];
const CLIENT_TARGET = "es2022";

interface Graph {
  getModuleInfo(id: string): { readonly importers: readonly string[] } | null;
}

function sqliteChunkOf(id: string, graph: Graph): string | null {
  const importers = graph.getModuleInfo(id)?.importers ?? [];
  return importers.some((importer) => standaloneSources.has(importer)) ? "sqlite" : null;
}

/** Marks a path in dist/ until it can be made relative to the chunk that refers to it. */
const DIST_PLACEHOLDER = "in-dist:";

/** Makes `import.meta` in a chunk refer to the path that the source file would have in dist/. */
const preserveImportMeta: Plugin = {
  name: "preserve import.meta",
  transform(code, id) {
    if (!(id.startsWith(SOURCES) && code.includes("import.meta."))) return null;
    const place = toPosixPath(relative(SOURCES, id)).replace(/\.ts$/, ".js");
    const moved = code.replaceAll(/\bimport\.meta\.(\w+)/g, (_, name: string) =>
      importMetaExpression(name, place),
    );
    return { code: moved, map: null }; // The line numbers do not change.
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

/** Writes the tokenizer's tables as JSON: smaller and faster to parse than array literals. */
const ranksAsJson: Plugin = {
  name: "ranks as JSON",
  load: {
    filter: { id: /gpt-tokenizer[\\/]esm[\\/]bpeRanks[\\/]\w+\.js$/ },
    async handler(id) {
      const { default: ranks } = (await import(pathToFileURL(id).href)) as { default: unknown[] };
      // JSON cannot represent holes in an array.
      const unused = [...ranks.keys()].filter((rank) => !(rank in ranks));
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
      throw new Error(`${place} uses import.meta.${name}: add its value in a chunk to bundle.ts`);
  }
}

function toPosixPath(path: string): string {
  return path.replaceAll(sep, "/");
}

export interface BundleOptions {
  /** The output folder. */
  readonly dir: string;
  /** Additional programs, by their path in the output folder. */
  readonly programs?: Readonly<Record<string, string>>;
}

/** Writes the bundle and the licenses of the bundled packages. */
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
    // Some entries import statically what others import dynamically.
    checks: { ineffectiveDynamicImport: false },
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
  for (const name of BUNDLED_PACKAGES) copyLicense(name, join(dir, "licenses"));
}

/** Bundles the client. Modules for Node only (files, archives) become chunks that import zod. */
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

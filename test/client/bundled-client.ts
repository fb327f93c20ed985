/** The entry points of `batonpass/client`, bundled as by a user, and a program that uses one. */
import { join, relative, sep } from "node:path";
import { type OutputChunk, type PluginContext, rolldown } from "rolldown";

const SOURCES = join(import.meta.dirname, "../../src");

export interface BundledClient {
  /** Files that are loaded with the entry point, relative to src/. */
  readonly files: readonly string[];
  /** Packages and builtins that are loaded with it. */
  readonly packages: readonly string[];
  /** Files that it imports dynamically. */
  readonly later: readonly string[];
  /** The code of everything that is loaded with the entry point. */
  readonly code: string;
}

export async function bundledClient(entry: "index" | "browser"): Promise<BundledClient> {
  let graph: Omit<BundledClient, "code"> | undefined;
  const input = join(SOURCES, "client", `${entry}.ts`);
  await using bundle = await rolldown({
    input,
    platform: "browser",
    external: /^(?:node:|zod$)/,
    transform: { target: "es2022" },
    plugins: [
      {
        name: "graph",
        buildEnd() {
          graph = graphOf(this, input);
        },
      },
    ],
    onLog(level, log) {
      if (level === "warn") throw new Error(log.message);
    },
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  const chunks = output.filter((each): each is OutputChunk => each.type === "chunk");
  const code = loadedWith(chunks).map((chunk) => chunk.code);
  if (graph === undefined) throw new Error("the bundle has no graph");
  return { ...graph, code: code.join("\n") };
}

/** Returns the modules that are reachable by static imports. */
function graphOf(context: PluginContext, entry: string): Omit<BundledClient, "code"> {
  const files = new Set([entry]);
  const packages = new Set<string>();
  const later = new Set<string>();
  for (const file of files) {
    const info = context.getModuleInfo(file);
    for (const id of info?.importedIds ?? []) (id.startsWith(SOURCES) ? files : packages).add(id);
    for (const id of info?.dynamicallyImportedIds ?? []) later.add(id);
  }
  const short = (ids: ReadonlySet<string>) =>
    [...ids].map((id) => relative(SOURCES, id).replaceAll(sep, "/")).sort();
  return { files: short(files), packages: [...packages], later: short(later) };
}

function loadedWith(chunks: readonly OutputChunk[]): readonly OutputChunk[] {
  const names = new Set(chunks.filter(({ isEntry }) => isEntry).map(({ fileName }) => fileName));
  for (const name of names) {
    const chunk = chunks.find(({ fileName }) => fileName === name);
    for (const imported of chunk?.imports ?? []) names.add(imported);
  }
  return chunks.filter(({ fileName }) => names.has(fileName));
}

/**
 * Returns a module that sends, accepts and completes a handoff with the client at `url`, and
 * exports the result.
 */
export const programWith = (url: string, address: string): string => `
import { isBatonError, openHub } from ${JSON.stringify(url)};
async function handOver() {
  const hub = await openHub(${JSON.stringify(address)}, { outageMs: 0 });
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", { role: "coder" });
  const memory = await planner.remember({ type: "fact", content: "Tokens expire after an hour." });
  const sent = await planner.handoff({ to: "coder", task: "auth", intent: "Go", refs: [memory.id] });
  const work = await coder.accept();
  work.on("extended", () => {});
  const read = await work.read(memory.id);
  const first = await work.once("deploy", () => "v1");
  await work.complete({ summary: "Done" });
  const answer = await sent.completed();
  const refused = await coder.accept({ wait: "yes" }).catch((error) => error);
  const files = await hub.handoffs.artifact("package.json").catch((error) => error);
  await hub.close();
  return {
    kind: answer.kind,
    primer: work.primer.includes("You are coder"),
    read: read.content,
    result: first.result,
    refused: isBatonError(refused) && refused.code,
    files: files.code ?? files.kind,
  };
}
const toPlain = (error) => ({ code: error.code, message: String(error.message ?? error) });
export const answer = await handOver().catch(toPlain);
`;

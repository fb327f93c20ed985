/**
 * `npm run eval -- <file>`: evaluates recall on conversations with questions whose evidence is
 * known. Prints strict results (a turn of the evidence itself is among the first k) per category,
 * per conversation and pooled, and one line by the lenient rule that some publications use.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openHub } from "../src/index.ts";
import { startPostgres } from "../test/support/postgres/server.ts";
import { type Conversation, readConversations } from "./conversations.ts";
import { sendDistractors } from "./distractors.ts";
import { type Answered, ask, type Figures, figuresOf, ingest, lenient } from "./measure.ts";

const HELP = `npm run eval -- <file> [--json] [--no-meaning] [--handoffs N] [--store sqlite|postgres|memory]
  [--agree]

  --no-meaning   Search by words and relations only
  --handoffs     Unrelated handoffs added per conversation (default: 0)
  --store        Store to evaluate (default: sqlite)
  --agree        Compare the top ten of the store with those of PostgreSQL
  --json         Print the results as JSON`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    agree: { type: "boolean", default: false },
    handoffs: { type: "string", default: "0" },
    help: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    "no-meaning": { type: "boolean", default: false },
    store: { type: "string", default: "sqlite" },
  },
});
const [file] = positionals;
if (values.help || file === undefined) {
  process.stderr.write(`${HELP}\n`);
  process.exit(values.help ? 0 : 64);
}

const conversations = readConversations(file);
const meaning = !values["no-meaning"];
const handoffs = Number(values.handoffs);

interface RunResult {
  readonly separate: readonly { readonly id: string; readonly answers: readonly Answered[] }[];
  readonly pooled: readonly Answered[];
}

async function run(store: string): Promise<RunResult> {
  const folder = mkdtempSync(join(tmpdir(), "baton-eval-"));
  const server = store === "postgres" ? await startPostgres() : undefined;
  const address = (name: string): string => {
    if (store === "memory") return "memory:";
    return server === undefined
      ? `sqlite:${join(folder, name)}.db`
      : `${server.url}?schema=${name}`;
  };
  const askQuestions = async (name: string, of: readonly Conversation[]): Promise<Answered[]> => {
    await using hub = await openHub(address(name), meaning ? {} : { embedder: false });
    const half = Math.floor((handoffs * of.length) / 2);
    await sendDistractors(hub, 0, half);
    const keys = await ingest(hub, of);
    await sendDistractors(hub, half, handoffs * of.length);
    if (meaning) await hub.index.embed();
    await waitForIndex(hub);
    progress(`${store}: ${name}`);
    return await ask(
      hub,
      of.flatMap((each) => each.questions),
      { keys, meaning },
    );
  };
  try {
    const separate = [];
    for (const [n, conversation] of conversations.entries()) {
      separate.push({
        id: conversation.id,
        answers: await askQuestions(`eval_${n}`, [conversation]),
      });
    }
    return { separate, pooled: await askQuestions("eval_pooled", conversations) };
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Waits until the index is filled, so that filling it does not affect the measured times. */
async function waitForIndex(hub: Awaited<ReturnType<typeof openHub>>): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const { records, indexed } = await hub.index.state();
    if (records - indexed < 512) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

const first = await run(values.store);
const all = first.separate.flatMap((each) => each.answers);
const report = {
  file,
  store: values.store,
  meaning,
  handoffs,
  unanswerable: conversations.reduce((sum, each) => sum + each.unanswerable, 0),
  separate: figuresOf(all),
  pooled: figuresOf(first.pooled),
  conversations: Object.fromEntries(
    first.separate.map((each) => [each.id, figuresOf(each.answers)]),
  ),
  categories: byCategory(all),
  pooledCategories: byCategory(first.pooled),
  lenient: { any10: lenient(all, conversations, 10), any20: lenient(all, conversations, 20) },
  ...(values.agree ? { agreement: agreement(first, await run("postgres")) } : {}),
};
progress("");
if (values.json) process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
else print();

function byCategory(answers: readonly Answered[]): Record<string, Figures> {
  const groups = Map.groupBy(answers, ({ question }) => question.category);
  const sorted = [...groups].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  return Object.fromEntries(sorted.map(([category, group]) => [category, figuresOf(group)]));
}

/** Returns the percentage of questions with the same top ten, and with the same order as well. */
function agreement(one: RunResult, other: RunResult): { same: number; sameOrder: number } {
  const pairs = [
    ...one.separate.flatMap(({ answers }, n) =>
      answers.map((answer, i) => [answer, other.separate[n]?.answers[i]] as const),
    ),
    ...one.pooled.map((answer, i) => [answer, other.pooled[i]] as const),
  ];
  const top = (answer: Answered | undefined): readonly string[] => answer?.found.slice(0, 10) ?? [];
  const count = (isSame: (a: readonly string[], b: readonly string[]) => boolean): number =>
    (100 * pairs.filter(([a, b]) => isSame(top(a), top(b))).length) / pairs.length;
  return {
    same: count((a, b) => [...a].sort().join() === [...b].sort().join()),
    sameOrder: count((a, b) => a.join() === b.join()),
  };
}

function print(): void {
  const line = (name: string, f: Figures): string =>
    [
      name.padEnd(22),
      String(f.questions).padStart(6),
      ...[f.any5, f.any10, f.any20, f.fraction10].map((value) => value.toFixed(1).padStart(8)),
      f.mrr.toFixed(3).padStart(8),
      f.msMedian.toFixed(2).padStart(8),
      f.ms95.toFixed(2).padStart(8),
    ].join("");
  const heading = `${"".padEnd(22)}     n   any@5  any@10  any@20 frac@10     MRR      ms   p95 ms`;
  const rows = [
    `Strict evidence recall in percent; ${values.store}, ${meaning ? "words and meaning" : "words only"}.`,
    "",
    heading,
    line("per conversation", report.separate),
    line("pooled", report.pooled),
    "",
    ...Object.entries(report.conversations).map(([id, f]) => line(`  ${id}`, f)),
    "",
    ...Object.entries(report.categories).map(([id, f]) => line(`  category ${id}`, f)),
    ...Object.entries(report.pooledCategories).map(([id, f]) =>
      line(`  pooled, category ${id}`, f),
    ),
    "",
    `Lenient rule (a turn within two of the evidence counts as found): ${report.lenient.any10.toFixed(1)} @10, ${report.lenient.any20.toFixed(1)} @20.`,
  ];
  if (report.unanswerable > 0) {
    rows.push(`${report.unanswerable} questions were skipped: their evidence is not in the file.`);
  }
  if (report.agreement !== undefined) {
    const { same, sameOrder } = report.agreement;
    rows.push(
      `PostgreSQL returns the same top ten for ${same.toFixed(1)} % of the questions, in the same order for ${sameOrder.toFixed(1)} %.`,
    );
  }
  process.stdout.write(`${rows.join("\n")}\n`);
}

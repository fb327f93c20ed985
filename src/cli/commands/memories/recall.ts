/** The command `baton recall`: searches memories and prints why each one matched. */
import type { Hit, RecallQuery, RecallResult } from "../../../memory/recall/recall.ts";
import {
  AFTER_OPTION,
  command,
  JSON_OPTION,
  type OptionSpecs,
  type OptionValues,
  STORE_OPTIONS,
} from "../../command.ts";
import { OK } from "../../exit.ts";
import { parseFraction } from "../../options/fraction.ts";
import { parseInstant } from "../../options/instant.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { momentOf, READER_OPTIONS, readerOf } from "../../reader.ts";
import { excerpt } from "../../render/excerpt.ts";
import { printMore } from "../../render/next-page.ts";
import { openExisting } from "../../store.ts";
import { age, bad, bold, dim, printable, printJson, printLine } from "../../terminal.ts";

const DEFAULT_LIMIT = 10;
const WIDTH = 100;
/** Lines of text printed per hit. */
const LINES = 2;

const OPTIONS = {
  task: { type: "texts", value: "<task>", help: "only of this task" },
  agent: { type: "texts", value: "<name>", help: "only by this agent (or alias)" },
  type: { type: "texts", value: "<type>", help: "only of this type: decision, lesson, …" },
  tag: { type: "texts", value: "<tag>", help: "only with this tag (several: all of them)" },
  concept: {
    type: "texts",
    value: "<concept>",
    help: "only about this concept (several: all of them)",
  },
  session: { type: "texts", value: "<name>", help: "only of this session" },
  run: { type: "texts", value: "<name>", help: "only of this run" },
  scope: {
    type: "texts",
    value: "<scope>",
    help: "only of this scope: agent, session, user, team",
  },
  "from-branch": { type: "texts", value: "<name>", help: "only written on this branch" },
  "min-importance": { type: "text", value: "<0…1>", help: "minimum importance" },
  "min-confidence": { type: "text", value: "<0…1>", help: "minimum confidence" },
  since: { type: "duration", value: "<time>", help: "only of the last 15m, 2h, …" },
  until: { type: "duration", value: "<time>", help: "only older than 15m, 2h, …" },
  "valid-at": {
    type: "text",
    value: "<time>",
    help: "only memories valid at this time: 2026-01-31T12:00Z",
  },
  depth: {
    type: "number",
    value: "<n>",
    help: "number of relations to follow, 0 to 3 (default: 1)",
  },
  visits: {
    type: "number",
    value: "<n>",
    help: "maximum number of records to visit (default: 200)",
  },
  traces: { type: "flag", help: "include steps of traces" },
  current: { type: "flag", help: "omit superseded memories instead of marking them" },
  "words-only": { type: "flag", help: "search by words only, without embeddings" },
  limit: {
    type: "number",
    value: "<n>",
    help: `maximum number of results (default: ${DEFAULT_LIMIT})`,
  },
  ...AFTER_OPTION,
  explain: { type: "flag", help: "show how each score is computed" },
  ...READER_OPTIONS,
  ...STORE_OPTIONS,
  ...JSON_OPTION,
} as const satisfies OptionSpecs;

export const recall = command({
  name: "recall",
  summary: "Find memories that answer a question, best first, with reasons",
  args: [{ name: "question", help: 'question in quotes: "why did we choose REST?"' }],
  options: OPTIONS,

  async run({ args: [question = ""], options }) {
    const { store, workspace, json, explain, as, branch } = options;
    const query = queryOf(options);
    await using hub = await openExisting({ store, workspace });
    const reader = await readerOf(hub, as, branch);
    const found = await reader.recall(question, query);
    const offset = options.after === undefined ? 0 : -1;
    if (json) printJson(found);
    else printHits(found, { explain: explain ?? false, offset });
    return OK;
  },
});

function queryOf(options: OptionValues<typeof OPTIONS>): RecallQuery {
  const { task, agent, type, tag, concept, session, run, scope, limit, after, depth, visits } =
    options;
  const now = Date.now();
  return {
    ...omitUndefined({ task, agent, type, tag, concept, session, run, after, depth, visits }),
    ...omitUndefined({
      scope: scope as RecallQuery["scope"],
      branch: options["from-branch"],
      asOf: momentOf(options["as-of"]),
      minImportance: parseFraction("--min-importance", options["min-importance"]),
      minConfidence: parseFraction("--min-confidence", options["min-confidence"]),
      since: options.since === undefined ? undefined : now - options.since,
      until: options.until === undefined ? undefined : now - options.until,
      validAt: parseInstant("--valid-at", options["valid-at"]),
      traces: options.traces,
    }),
    limit: limit ?? DEFAULT_LIMIT,
    meaning: !options["words-only"],
    superseded: options.current ? "left-out" : "marked",
  };
}

function printHits(
  { items: hits, next, index, meaning }: RecallResult,
  { explain, offset }: { explain: boolean; offset: number },
): void {
  if (hits.length === 0) printLine(dim("No matching memories."));
  for (const [n, hit] of hits.entries()) {
    printHit(hit, offset < 0 ? "•" : String(n + 1));
    if (explain) printScoreParts(hit);
  }
  printMore(next);
  if (index.records - index.indexed > 20_000) {
    printLine(dim(`Indexing in progress: ${index.indexed} of ${index.records} records.`));
  }
  if (explain) printLine(dim(`Search by meaning: ${meaning}.`));
}

function printHit(hit: Hit, number: string): void {
  const { memory, supersededBy } = hit;
  const about = memory.task === undefined ? "" : ` on ${memory.task}`;
  const marked = supersededBy.length === 0 ? "" : `${bad("superseded")} `;
  const when = age(Date.now() - memory.storedAt);
  printLine(
    `${dim(number.padStart(2))}  ${marked}${bold(memory.type)}  ${memory.agent}${about}${dim(`, ${when} ago, ${memory.id}`)}`,
  );
  const width = Math.min(process.stdout.columns || WIDTH, 120) - 4;
  const words = [...hit.matchedWords, ...hit.neighbourWords];
  const text = memory.redacted === undefined ? memory.content : "(redacted)";
  printLine(`    ${excerpt(text, words, width * LINES)}`);
  if (hit.passage !== undefined) printLine(`    ${excerpt(hit.passage, words, width * LINES)}`);
  const [delivery, ...others] = hit.handoff?.deliveries ?? [];
  if (delivery !== undefined) {
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    printLine(dim(`    handoff ${delivery}${more}`));
  }
  printLine(dim(`    ${printable(hit.why.join("; "))}`));
}

function printScoreParts({ score, parts }: Hit): void {
  const { factor, ...sums } = parts;
  const summands = Object.entries(sums)
    .filter(([, value]) => value > 0)
    .map(([name, value]) => `${name} ${value.toFixed(2)}`);
  printLine(dim(`    ${score.toFixed(2)} = (${summands.join(" + ")}) × ${factor.toFixed(2)}`));
}

/**
 * Generates the tables inside hand-written pages from the code: envelope fields, state transitions,
 * limits, commands. Each table is between two marks, the first of which names it.
 */

import { DEFAULT_LIMITS, FORMAT_LIMITS } from "../src/base/limits.ts";
import { COMMANDS } from "../src/cli/commands.ts";
import { synopsisOf } from "../src/cli/parse.ts";
import { RULE_TABLE } from "../src/context/lint/rule-table.ts";
import { TRANSITIONS, type Transition } from "../src/delivery/settle/transitions.ts";
import { envelopeJsonSchema } from "../src/envelope/json-schema.ts";
import { DraftSchema, ENVELOPE_VERSION } from "../src/envelope/schema.ts";
import { listedSchema, type Tool } from "../src/mcp/tool.ts";
import { TOOLS } from "../src/mcp/tools/tools.ts";
import { VIEWS } from "../src/store/sql/views.ts";
import { exactTokenizer } from "../src/text/tokens.ts";

const TABLES: Readonly<Record<string, () => string>> = {
  "envelope fields": envelopeFields,
  transitions,
  "format limits": () => limits(FORMAT_LIMITS, FORMAT_MEANINGS),
  "default limits": () => limits(DEFAULT_LIMITS, DEFAULT_MEANINGS),
  commands,
  "lint rules": lintRules,
  "mcp tools": mcpTools,
  "sql views": sqlViews,
};

/** Returns the page with all marked tables regenerated. */
export function withTables(page: string): string {
  return page.replace(
    /(<!-- table: (.+?) \(npm run docs\) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, open: string, name: string, close: string) => {
      const table = TABLES[name];
      if (table === undefined) throw new Error(`Unknown table "${name}"`);
      return `${open}\n${table()}\n\n${close}`;
    },
  );
}

/** Lists each view with its columns under its own heading. */
function sqlViews(): string {
  return Object.entries(VIEWS)
    .map(([name, { meaning, columns }]) => {
      const body = Object.entries(columns).map(([column, of]) => [
        `\`${column}\``,
        of.type,
        of.meaning,
      ]);
      return `### ${name}\n\n${meaning}.\n\n${renderTable(["column", "type", ""], body)}`;
    })
    .join("\n\n");
}

const { count } = await exactTokenizer("o200k_base");

/** Lists each tool with its arguments, and how many tokens the list takes in every session. */
function mcpTools(): string {
  const body = TOOLS.map(({ name, description, input }) => {
    const [first = ""] = /^[^.]+\./.exec(description) ?? [];
    const fields = Object.entries(input.shape).map(([field, schema]) =>
      schema.safeParse(undefined).success ? `${field}?` : `**${field}**`,
    );
    return [`\`${name}\``, first, fields.join(", ")];
  });
  const tokens = TOOLS.map(tokensOf).reduce((sum, each) => sum + each, 0);
  const about = (Math.round(tokens / 100) * 100).toLocaleString("en");
  const size = `The list takes about ${about} tokens of a model's context (names, descriptions and arguments; o200k).`;
  return `${renderTable(["tool", "what it does", "arguments"], body)}\n\n${size}`;
}

function tokensOf({ name, description, input }: Tool): number {
  const { jsonSchema } = listedSchema(input)["~standard"];
  const inputSchema = jsonSchema.input({ target: "draft-2020-12" });
  return count(JSON.stringify({ name, description, inputSchema }));
}

function renderTable(head: readonly string[], body: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...body.map(line)].join("\n");
}

// The envelope ------------------------------------------------------------------------------------

/** Descriptions of fields whose schema has none, or only one for the type of name. */
const FIELD_MEANINGS: Readonly<Record<string, string>> = {
  artifacts: "What the work produced or needs, kept outside: files, pull requests, tool outputs",
  constraints: "Rules for the work on the task",
  doNotRedo: "What is settled and must not be done again",
  done: "What has been done",
  expects: "What the receiver is to hand back, and how it knows that it is good",
  from: "Who sent it: agent, session and routing role",
  id: "This envelope",
  metadata:
    "When it was made (set by the hub), by which model, at what cost; open to your own fields",
  parents: "The envelopes it continues from or adds to",
  payload:
    "Typed data; checked against the schema registered for its type, and sent as that schema gives it",
  refs: "Memories it builds on, each fixed by the digest it had when it was sent",
  run: "The run it belongs to",
  task: "The task whose line it is on; made up when the sender names none",
  priority: "How urgent it is: what is urgent goes ahead in the receiver's inbox",
  reconstructed:
    "Reconstructed by the hub from the notes of a holder that stopped responding: holder, attempt, reason",
  to: "The receiver: an agent, one agent of a role, or all subscribers of a channel",
  version: "The version of this format, such as 1.0",
  workspace: "The tenant",
};

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

function envelopeFields(): string {
  const { properties = {}, required = [] } = envelopeJsonSchema(ENVELOPE_VERSION) as Schema;
  const body = Object.entries(properties).map(([name, schema]) => {
    const meaning = FIELD_MEANINGS[name] ?? schema.description;
    if (meaning === undefined) throw new Error(`Add a description of the envelope field "${name}"`);
    const field = `\`${name}${required.includes(name) ? "" : "?"}\``;
    return [field, name in DraftSchema.shape ? "sender" : "hub", `\`${formOf(schema)}\``, meaning];
  });
  return renderTable(["field", "said by", "form", "meaning"], body);
}

function formOf(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.join(" | ");
  if (schema.oneOf !== undefined) return schema.oneOf.map(formOf).join(" | ");
  if (schema.type === "array") return `${formOf(schema.items ?? {})}[]`;
  if (schema.properties === undefined) return schema.type ?? "any";
  const { required = [] } = schema;
  const parts = Object.entries(schema.properties).map(([name, part]) =>
    part.const === undefined
      ? `${name}${required.includes(name) ? "" : "?"}`
      : `${name}: ${formOf(part)}`,
  );
  return `{ ${parts.join(", ")} }`;
}

// States ------------------------------------------------------------------------------------------

function transitions(): string {
  const all: readonly Transition[] = Object.values(TRANSITIONS);
  return renderTable(
    ["verb", "from", "to", "by", "event"],
    all.map(({ verb, from, to, by, events }) => [
      verb,
      from.join(", ") || "(nothing)",
      to.join(", ") || "(stays)",
      by,
      events.join(", ") || "(none)",
    ]),
  );
}

// Limits ------------------------------------------------------------------------------------------

const FORMAT_MEANINGS: Record<keyof typeof FORMAT_LIMITS, string> = {
  nameLength: "characters of a name: agent, role, task, run, workspace, tag",
  lineLength: "characters of a sentence: a constraint, a step, a question",
  textLength: "characters of a paragraph: intent, state, a result's summary",
  intentLength:
    "characters of an intent that travel; a longer one is kept whole as a record, the brief",
  contentLength: "characters of a memory's content; longer documents are artifacts",
  listItems: "entries in one list of an envelope; pins in a workspace",
  ledgerItems: "constraints, open decisions and releases on one task's ledger",
  contextItems: "active items of the shared context",
  references: "references of one envelope or memory",
  parents: "parents of one envelope",
  tags: "tags, or concepts, of one memory; aliases of an agent",
  relations: "relations of one memory",
  jsonDepth: "nesting of payloads, data and metadata",
  durationMs: "milliseconds of the longest time a policy can name: a year",
  attempts: "attempts that a policy can ask for",
  fallbacks: "receivers a policy can fall back on",
  hops: "the longest line that a hub can be configured to allow",
};

const DEFAULT_MEANINGS: Record<keyof typeof DEFAULT_LIMITS, string> = {
  envelopeBytes: "canonical bytes of one envelope",
  memoryBytes: "canonical bytes of one memory",
  appendBatch: "memories remembered in one call",
  handoffBatch: "handoffs sent in one call",
  pageSize: "entries in one answer of recent, relations, events or waiting",
  claimBatch: "offers claimed at once",
  concurrency: "handlers that one agent.work() runs at the same time",
  leaseMs: "milliseconds without a call after which a holder's work is redelivered",
  holdMs: "milliseconds one holder can have a piece of work, however often it renews its lease",
  attempts: "attempts before a delivery goes to a fallback or becomes a dead letter",
  hops: "handoffs of one line, one after the other, before it stops in dead letters",
  inbox: "open handoffs of one receiver; more are refused as inbox_full",
  breakerStrikes: "deliveries in a row that a receiver loses before its breaker opens",
  breakerMs: "milliseconds a breaker stays open before one probe may pass",
  coordinatorMs: "milliseconds a coordinator has to decide about a failure; then the hub decides",
  personMs: "the same where every coordinator is a person, and for agents that are asked",
  redrives: "times the hub has one delivery that was given up tried again, before it aborts",
  taskTree: "tasks in one board or tree",
  tokens: "tokens of one workspace that are good at a time",
  payloadTypes: "payload types registered in one workspace",
  payloadTypeVersions: "versions of payload types that one workspace keeps, of all types",
  payloadSchemaBytes: "canonical bytes of the JSON Schema of a payload type",
  receivers: "receivers of one publication; deliveries of one agent.handoffMany()",
  mergedLines: "branches merged into one branch, with all that had been merged into them",
  impactDepth: "steps that what came of a memory is followed",
  impactVisits: "records visited to find what came of a memory, or quarantined in one call",
  sqlRows: "rows in one answer in SQL",
  sqlBytes: "bytes in one answer in SQL",
  sqlMs: "milliseconds one query in SQL may run; then it is ended",
  traceBytes: "bytes of one step of a trace, in canonical form",
  traceBuffer: "steps of traces that wait to be stored; more are refused, and counted",
  busyMs: "milliseconds a call is retried while the store is locked or its server is unavailable",
  exportLineBytes: "bytes of one line of an export that is imported",
  artifactBytes:
    "bytes read to see whether the files of a handoff are as they were; more is unchecked",
  documentBytes: "bytes of a MEMORY.md, exported or imported",
  storeBytes: "bytes a SQLite store may grow to; 0 leaves it to the disk",
};

function limits(
  values: Readonly<Record<string, number>>,
  meanings: Readonly<Record<string, string>>,
): string {
  return renderTable(
    ["limit", "value", "of what"],
    Object.entries(values).map(([name, value]) => [
      `\`${name}\``,
      value.toLocaleString("en"),
      meanings[name] ?? "",
    ]),
  );
}

// Lint --------------------------------------------------------------------------------------------

function lintRules(): string {
  return renderTable(
    ["rule", "level", "default", "finds"],
    Object.entries(RULE_TABLE).map(([name, { level, binding = "warn", meaning }]) => [
      `\`${name}\``,
      level,
      `\`${binding}\``,
      meaning,
    ]),
  );
}

// Commands ----------------------------------------------------------------------------------------

function commands(): string {
  return renderTable(
    ["command", "what it does", "options"],
    COMMANDS.map((command) => [
      `\`${synopsisOf(command).replaceAll("|", " or ")}\``,
      command.summary,
      Object.keys(command.options)
        .map((name) => `\`--${name}\``)
        .join(" "),
    ]),
  );
}

/**
 * Imports a Markdown document: entries without a marker become records, changed entries supersede the records
 * of their markers, and everything else stays as it is, including records that were deleted from the
 * document. Everything is written in one operation or not at all. Importing the same document twice changes
 * nothing.
 */

import * as z from "zod";
import { sha256 } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { checkLimit, FORMAT_LIMITS } from "../../base/limits.ts";
import { Name } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { readVisible } from "../../memory/read.ts";
import { type Author, type Memory, type MemoryInput, memoryOf } from "../../memory/record.ts";
import {
  runWithoutSecrets,
  type WithSecrets,
  withSecrets,
} from "../../memory/redaction/secret-policy.ts";
import { remember } from "../../memory/remember.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { listVisibleMemories, replacedIdsOf } from "../memory-export-query.ts";
import { typeOf } from "./headings.ts";
import { isMarkedBy } from "./marker.ts";
import { type DocumentEntry, parseDocument } from "./parse.ts";

/** Options of `memories.importMarkdown()`. */
export const DocumentSchema = z.strictObject({
  /** True: report what would be written, without writing. Default: false. */
  dryRun: z.boolean().default(false),
  /** The task of new entries. */
  task: Name.optional(),
  /** The type of new entries under headings that do not name a type. Default: "fact". */
  type: z.string().min(1).default("fact"),
});

export type DocumentOptions = z.input<typeof DocumentSchema>;
type CheckedDocumentOptions = z.output<typeof DocumentSchema>;

/** An entry that was written. */
export interface ImportedEntry {
  readonly line: number;
  readonly type: string;
  /** The record that was written; absent after a dry run. */
  readonly memory?: string;
  /** The records that it supersedes; empty for a new entry. */
  readonly supersedes: readonly string[];
}

/** The result of importing a document. */
export interface DocumentReport {
  readonly taken: readonly ImportedEntry[];
  readonly unchanged: number;
  /** Entries of records that were redacted since. Their text is not imported again. */
  readonly redacted: readonly { readonly line: number; readonly memory: string }[];
}

type EntryDecision =
  | { readonly kind: "unchanged" }
  | { readonly kind: "redacted"; readonly memory: string }
  | { readonly kind: "take"; readonly input: MemoryInput; readonly supersedes: readonly string[] };

/**
 * Imports a document. Throws `document_stale` if it changes a memory that was changed since it was written,
 * and `limit_exceeded`.
 */
export async function importDocument(
  workspace: Workspace,
  author: Author,
  document: string,
  given: DocumentOptions = {},
): Promise<WithSecrets<DocumentReport>> {
  const how = { code: "invalid_input", what: "The document", prefix: "document" } as const;
  const said = { document: parseOrThrow(z.string(), document, how) };
  return runWithoutSecrets(
    workspace,
    said,
    async (redacted, secrets) =>
      withSecrets(await takeText(workspace, author, redacted.document, given), secrets),
    { limit: "documentBytes", path: "document" },
  );
}

async function takeText(
  workspace: Workspace,
  author: Author,
  text: string,
  given: DocumentOptions,
): Promise<DocumentReport> {
  const options = parseOrThrow(DocumentSchema, given, {
    code: "invalid_input",
    what: "The options",
  });
  const bytes = Buffer.byteLength(text);
  checkLimit(workspace.limits, "documentBytes", { actual: bytes, path: "document" });
  const entries = parseDocument(text);
  const known = await readExistingMemories(workspace, entries, options);
  const decided = entries.map((entry) => ({ entry, decision: decideEntry(entry, known, options) }));
  const taken = decided.flatMap(({ entry, decision }) =>
    decision.kind === "take" ? [{ entry, ...decision }] : [],
  );
  const inputs = taken.map(({ input }) => input);
  const write = inputs.length > 0 && !options.dryRun;
  const memories = write ? await remember(workspace, author, inputs) : [];
  return {
    taken: taken.map(({ entry, input, supersedes }, i) => ({
      line: entry.line,
      type: input.type ?? options.type,
      ...(memories[i] && { memory: memories[i].id }),
      supersedes,
    })),
    unchanged: decided.filter(({ decision }) => decision.kind === "unchanged").length,
    redacted: decided.flatMap(({ entry, decision }) =>
      decision.kind === "redacted" ? [{ line: entry.line, memory: decision.memory }] : [],
    ),
  };
}

/** The stored memories that matter for the document. */
interface ExistingMemories {
  /** The records of the markers, as far as the reader may see them. */
  readonly marked: ReadonlyMap<string, Memory>;
  /** Records that superseded them. */
  readonly after: ReadonlyMap<string, readonly Memory[]>;
  /** Current contents with their types, including those that this import adds. */
  readonly contents: Set<string>;
}

async function readExistingMemories(
  workspace: Workspace,
  entries: readonly DocumentEntry[],
  options: CheckedDocumentOptions,
): Promise<ExistingMemories> {
  const ids = [...new Set(entries.flatMap(({ markers }) => markers.map(({ memory }) => memory)))];
  const marked = new Map(
    (await readVisible(workspace, ids)).map((row) => [row.id, memoryOf(row)] as const),
  );
  const asked = new Set(
    entries.map((entry) => contentKeyOf(typeFor(entry, options), entry.content)),
  );
  const after = new Map<string, Memory[]>();
  const found = new Map<string, string>();
  for await (const { memory } of listVisibleMemories(workspace, undefined)) {
    for (const id of replacedIdsOf(memory)) {
      found.delete(id);
      if (marked.has(id)) after.set(id, [...(after.get(id) ?? []), memory]);
    }
    const content = contentKeyOf(memory.type, memory.content);
    if (asked.has(content)) found.set(memory.id, content);
  }
  return { marked, after, contents: new Set(found.values()) };
}

const contentKeyOf = (type: string, content: string): string =>
  sha256(JSON.stringify([type, content]));

const typeFor = ({ heading }: DocumentEntry, { type }: CheckedDocumentOptions): string =>
  typeOf(heading) ?? type;

function decideEntry(
  entry: DocumentEntry,
  known: ExistingMemories,
  options: CheckedDocumentOptions,
): EntryDecision {
  const of = entry.markers.flatMap(({ memory }) => known.marked.get(memory) ?? []);
  const [first] = of;
  // Markers of another workspace have no meaning here.
  if (first === undefined) return decideNew(entry, known, options);
  const gone = of.find(({ redacted }) => redacted !== undefined);
  if (gone !== undefined) return { kind: "redacted", memory: gone.id };
  for (const marker of entry.markers) {
    const record = known.marked.get(marker.memory);
    if (record && !isMarkedBy(marker, record.digest)) throw foreign(entry, record.id);
  }
  if (entry.content.trim() === "") return { kind: "unchanged" }; // An emptied entry counts as deleted.
  const type = typeOf(entry.heading) ?? first.type;
  const same = (record: Memory): boolean =>
    record.type === type && record.content === entry.content;
  if (of.length === 1 && same(first)) return { kind: "unchanged" };
  const later = of.flatMap(({ id }) => known.after.get(id) ?? []);
  if (later.some(same)) return { kind: "unchanged" }; // The same change was imported before.
  const [newer] = later;
  if (newer !== undefined) throw stale(entry, first.id, newer);
  const supersedes = of.map(({ id }) => id);
  return {
    kind: "take",
    supersedes,
    input: supersedingInputOf(first, { type, entry, supersedes }),
  };
}

function decideNew(
  entry: DocumentEntry,
  { contents }: ExistingMemories,
  options: CheckedDocumentOptions,
): EntryDecision {
  const { content, heading } = entry;
  if (content.trim() === "") return { kind: "unchanged" };
  const type = typeFor(entry, options);
  const key = contentKeyOf(type, content);
  if (contents.has(key)) return { kind: "unchanged" };
  contents.add(key);
  // A heading that is not a type becomes a tag, unless it is as long as a sentence.
  const isOwn = heading !== "" && typeOf(heading) === undefined;
  const tags = isOwn && heading.length <= FORMAT_LIMITS.nameLength ? { tags: [heading] } : {};
  const task = options.task === undefined ? {} : { task: options.task };
  return { kind: "take", supersedes: [], input: { type, content, ...tags, ...task } };
}

/** Returns the new version of a record, with the same task, tags and scope. */
function supersedingInputOf(
  { task, tags, concepts, scope, session }: Memory,
  how: {
    readonly type: string;
    readonly entry: DocumentEntry;
    readonly supersedes: readonly string[];
  },
): MemoryInput {
  const { type, entry, supersedes } = how;
  return {
    type,
    content: entry.content,
    relations: supersedes.map((to) => ({ kind: "supersedes" as const, to })),
    ...(task === undefined ? {} : { task }),
    ...(tags === undefined ? {} : { tags }),
    ...(concepts === undefined ? {} : { concepts }),
    ...(scope === undefined ? {} : { scope }),
    ...(scope === "session" ? { session } : {}),
  };
}

function stale(entry: DocumentEntry, id: string, newer: Memory): BatonError {
  return new BatonError("document_stale", {
    message: `Line ${entry.line} changes ${id}, which ${newer.agent} changed after the document was exported (${newer.id}).`,
    path: `line ${entry.line}`,
    hint: "Export the document again and repeat the change there; nothing was imported.",
    details: { line: entry.line, memory: id, newer: newer.id },
  });
}

function foreign(entry: DocumentEntry, id: string): BatonError {
  return new BatonError("document_stale", {
    message: `Line ${entry.line} has the marker of ${id}, but its digest does not match that record.`,
    path: `line ${entry.line}`,
    hint: "Correct the marker, or remove it to import the entry as a new one.",
    details: { line: entry.line, memory: id },
  });
}

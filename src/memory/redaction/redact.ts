/**
 * Erases secrets from stored data, by the ids of what contains them or by the text itself, anywhere in the
 * workspace. Bodies are erased, their digests stay, and a record states which agent did it and why, so that
 * everything still verifies. Works in batches, each applied completely or not at all: after an interruption,
 * calling again continues with the rest.
 *
 * A text is also erased from memories private to others. The caller only learns how many there were, and only
 * by erasing them: a dry run could be repeated to guess a secret letter by letter.
 */

import * as z from "zod";
import { canonicalJson } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { ID_PREFIXES } from "../../base/ids.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { EnvelopeId, MemoryId } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { digestOf } from "../../store/redaction.ts";
import { type MemoryRow, type NewMemory, parseText } from "../../store/rows.ts";
import type { Erasure, TextOccurrence } from "../../store/store.ts";
import type { VerifyProgress } from "../../store/verify-report.ts";
import { isRowInScope, MAIN_BRANCH, type Reader } from "../../store/visibility.ts";
import { RETRY, type Retry, retryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { QUARANTINE } from "../quarantine/quarantine-mark.ts";
import { type Author, type AuthoredRecord, writeRecord } from "../record.ts";
import { findHiddenIds } from "../reference-visibility.ts";
import { refusalError } from "../refusals.ts";
import { LEDGER } from "../stored-ledger.ts";
import { deleteWorkEntry } from "../work-entry.ts";
import { briefRecordOf, closingRecordOf, ledgerFinding } from "./ledger-redaction.ts";
import {
  envelopeFinding,
  findingOf,
  locationOf,
  memoryFinding,
  type RedactionFinding,
  type RedactionLocation,
  redactedOf,
  type UnredactedLocation,
} from "./redaction-finding.ts";
import { Secret } from "./secret.ts";
import { redactSecrets } from "./secret-policy.ts";

/** Shorter texts occur in too many unrelated places. */
const MIN_TEXT_LENGTH = 6;
/** Bodies per batch; well below what the redaction record can list. */
const BATCH = 50;
/** Samples per body and in total; a store searches its files for each of them. */
const SAMPLES_OF_EACH = 8;
const MAX_SAMPLES = 64;
/** Characters per sample: long enough to occur nowhere else. */
const SAMPLE = 40;
/** Another writer can change a row between read and write; each round at least one of them succeeds. */
const REDACTION_OVERTAKEN = {
  what: "The rows to redact were changed",
  hint: "Call again to continue with the rest.",
};

const IdsSchema = z.strictObject({
  ids: z
    .array(
      z.union([MemoryId, EnvelopeId], {
        error: "must be a memory id (mem_…) or an envelope id (env_…)",
      }),
    )
    .min(1)
    .max(FORMAT_LIMITS.references),
});
const TextSchema = z.strictObject({
  text: z.string().min(MIN_TEXT_LENGTH).max(FORMAT_LIMITS.textLength),
});

/** Input schema of RedactTarget. */
export const RedactTargetSchema = z.union([IdsSchema, TextSchema]);

/** What to redact: memories and envelopes by id, or a text wherever it occurs. */
export type RedactTarget = z.input<typeof RedactTargetSchema>;

const Reason = z.string().min(1).max(FORMAT_LIMITS.lineLength);

/** Options of redact(). */
export const RedactSchema = z.strictObject({
  /** Only returns what would be erased. Default: false. */
  dryRun: z.boolean().default(false),
  onProgress: z
    .custom<(progress: VerifyProgress) => void>((value) => typeof value === "function")
    .optional(),
});

export type RedactOptions = z.input<typeof RedactSchema>;

/** The result of a redaction. */
export interface RedactReport {
  readonly dryRun: boolean;
  /** What was erased (with `dryRun`: would be), as far as the caller may see it. */
  readonly erased: readonly RedactionLocation[];
  /** Matches that were not erased, and why. */
  readonly left: readonly UnredactedLocation[];
  /** The number of further rows that the caller may not see. A dry run does not search those. */
  readonly hidden: { readonly erased: number; readonly left: number };
  /** The ids of the redaction records. */
  readonly records: readonly string[];
  /** Where copies may exist that this store cannot reach. */
  readonly beyond: readonly string[];
}

/** Copies that no store can reach. */
const UNREACHABLE_COPIES = [
  "Backups, exports and copies of the store that were made before.",
  "Every reader of the text: agents, their models and logs, the memory of other processes.",
] as const;

const keyOf = ({ kind, id }: RedactionLocation): string => JSON.stringify([kind, id]);

/** The state of one redact() call. */
interface Run {
  readonly workspace: Workspace;
  readonly by: Author;
  readonly reason: string;
  readonly dryRun: boolean;
  readonly secret: Secret | undefined;
  readonly erased: Map<string, RedactionLocation>;
  readonly left: Map<string, UnredactedLocation>;
  /** Keys of the locations that the caller may not see. */
  readonly hidden: Set<string>;
  readonly records: string[];
  /** Parts of bodies erased by id, with which the store checks that nothing of them is left in its files. */
  readonly samples: Set<string>;
}

/**
 * Redacts memories, envelopes or a text. Throws `unknown_memory` or `unknown_envelope` for an unknown id, and
 * `invalid_input` for a text that is too short or a reason that contains it.
 */
export async function redact(
  workspace: Workspace,
  by: Author,
  asked: { readonly target: RedactTarget; readonly reason: string },
  options: RedactOptions,
): Promise<RedactReport> {
  const { dryRun, onProgress = () => {} } = parseOrThrow(RedactSchema, options, {
    code: "invalid_input",
    what: "The options",
    unwritten: "onProgress",
  });
  const target = checkedTarget(asked.target);
  const secret = "text" in target ? new Secret(target.text) : undefined;
  const { reason } = await redactSecrets(workspace, {
    reason: checkedReason(asked.reason, secret),
  });
  const found = { erased: new Map(), left: new Map(), hidden: new Set<string>(), records: [] };
  const samples = new Set<string>();
  const run: Run = { workspace, by, reason, dryRun, secret, samples, ...found };
  if ("text" in target) await redactText(run, new Secret(target.text), onProgress);
  else await redactIds(run, [...new Set(target.ids)]);
  // A text that stays in a name stays in the files, so searching them for it proves nothing.
  const forms = secret === undefined ? [...samples] : run.left.size > 0 ? [] : secret.stored;
  const { beyond } = dryRun ? { beyond: [] } : await workspace.store.scrub(workspace.name, forms);
  const erased = visibleLocationsOf(run, run.erased);
  const left = visibleLocationsOf(run, run.left);
  return {
    dryRun,
    erased,
    left,
    hidden: { erased: run.erased.size - erased.length, left: run.left.size - left.length },
    records: run.records,
    beyond: [...beyond, ...UNREACHABLE_COPIES],
  };
}

const visibleLocationsOf = <T extends RedactionLocation>(
  { hidden }: Run,
  spots: ReadonlyMap<string, T>,
): T[] => [...spots].filter(([key]) => !hidden.has(key)).map(([, spot]) => spot);

function checkedTarget(target: RedactTarget): z.output<typeof RedactTargetSchema> {
  const how = { code: "invalid_input", what: "The target" } as const;
  const isText = typeof target === "object" && target !== null && "text" in target;
  if (!isText) return parseOrThrow(IdsSchema, target, how);
  const checked = parseOrThrow(TextSchema, target, how);
  canonicalJson(checked.text, "invalid_input", "text"); // Refuses a text that no record can contain.
  return checked;
}

function checkedReason(reason: string, secret: Secret | undefined): string {
  const checked = parseOrThrow(Reason, reason, {
    code: "invalid_input",
    what: "The reason",
    prefix: "reason",
  });
  canonicalJson(checked, "invalid_input", "reason");
  if (!secret?.isIn(checked)) return checked;
  throw new BatonError("invalid_input", {
    message:
      "The reason contains the text to redact, which would then stay on the chain permanently.",
    path: "reason",
    hint: "State the reason without repeating the text.",
  });
}

/** Redacts a text. Findings of several pages share a batch, so that a rare secret leaves one record. */
async function redactText(
  run: Run,
  secret: Secret,
  onProgress: (progress: VerifyProgress) => void,
): Promise<void> {
  let next: string | undefined = "";
  while (next !== undefined) {
    const since: string = next;
    next = await retryWrite(REDACTION_OVERTAKEN, () =>
      redactBatch(run, secret, { since, onProgress }),
    );
  }
}

/** Redacts the findings of the next pages, and returns the cursor of the page after them. */
async function redactBatch(
  run: Run,
  secret: Secret,
  {
    since,
    onProgress,
  }: { readonly since: string; readonly onProgress: (progress: VerifyProgress) => void },
): Promise<string | undefined | Retry> {
  const { store, name } = run.workspace;
  const found: (RedactionFinding | undefined)[] = [];
  for (let after = since; ; ) {
    const page = await store.seekText({ workspace: name, forms: secret.stored, after });
    const sighted = await selectSightings(run, page.found);
    const here = sighted.map((sighting) => findingOf(run.workspace, secret, sighting));
    found.push(...(await Promise.all(here)));
    if (page.next !== undefined && found.length < BATCH) {
      after = page.next;
      continue;
    }
    if (!(await applyFindings(run, found))) return RETRY; // A row has changed since it was read.
    onProgress({ checked: page.checked, total: page.total });
    return page.next;
  }
}

/** Returns the occurrences to process (a dry run skips hidden ones), and notes which are hidden. */
async function selectSightings(
  run: Run,
  found: readonly TextOccurrence[],
): Promise<readonly TextOccurrence[]> {
  const { workspace, hidden, dryRun } = run;
  const ofOthers = await findHiddenIds(
    workspace,
    found.flatMap((each) => markedBy(each) ?? []),
  );
  return found.filter((each) => {
    const spot = hiddenAt(each, workspace.reader, ofOthers);
    if (spot !== undefined) hidden.add(keyOf(spot));
    return spot === undefined || !dryRun;
  });
}

/** Returns the location if it is hidden. Only memories, and quarantine marks of memories, have scopes. */
function hiddenAt(
  sighting: TextOccurrence,
  reader: Reader,
  ofOthers: ReadonlySet<string>,
): RedactionLocation | undefined {
  if (sighting.kind === "memory") {
    const { row } = sighting;
    return isOpenTo(row, reader) ? undefined : { kind: "memory", id: row.id };
  }
  const marked = markedBy(sighting);
  if (marked === undefined || !ofOthers.has(marked)) return undefined;
  return { kind: "entry", id: `${QUARANTINE} ${marked}` };
}

/** Returns the memory that a quarantine entry marks. */
const markedBy = (sighting: TextOccurrence): string | undefined =>
  sighting.kind === "entry" && sighting.row.kind === QUARANTINE ? sighting.row.name : undefined;

/** Returns whether the reader may see a memory; one that cannot be parsed has no known scope: hidden. */
function isOpenTo(row: MemoryRow, reader: Reader): boolean {
  try {
    return isRowInScope(row, reader);
  } catch {
    return false;
  }
}

async function redactIds(run: Run, ids: readonly string[]): Promise<void> {
  await retryWrite(
    REDACTION_OVERTAKEN,
    async () => (await applyFindings(run, await byIds(run.workspace, ids))) || RETRY,
  );
}

/** Finds what belongs to a handoff: its record and its task's ledger repeat the intent, and are included. */
async function byIds(
  workspace: Workspace,
  ids: readonly string[],
): Promise<(RedactionFinding | undefined)[]> {
  const { store, name, reader } = workspace;
  const memories = new Set(ids.filter((id) => !isEnvelope(id)));
  const envelopes = new Set(ids.filter(isEnvelope));
  for (const id of envelopes) {
    const found = await store.findEnvelope(name, id);
    if (found === undefined) throw unknownTarget(workspace, "envelope", id);
    memories.add(found.envelope.memory);
  }
  const all = await store.readMemories(name, [...memories]);
  const rows = all.filter((row) => isOpenTo(row, reader));
  const missing = [...memories].find((id) => !rows.some((row) => row.id === id));
  if (missing !== undefined) throw unknownTarget(workspace, "memory", missing);
  for (const row of rows) {
    const sent = envelopeIdOf(row);
    if (sent !== undefined) envelopes.add(sent);
  }
  const sealed = await Promise.all([...envelopes].map((id) => store.findEnvelope(name, id)));
  const sent = sealed.flatMap((found) => found?.envelope.task ?? []);
  const tasks = new Set([...sent, ...rows.flatMap((row) => tryParseRecord(row)?.task ?? [])]);
  const kept = await Promise.all([...tasks].map((task) => store.findEntry(name, LEDGER, task)));
  const ledgers = kept.filter((entry) => entry !== undefined);
  const briefs = ledgers.flatMap((entry) => briefRecordOf(entry, envelopes) ?? []);
  const closings = ledgers.flatMap((entry) => closingRecordOf(entry, memories) ?? []);
  const whole = await store.readMemories(
    name,
    [...briefs, ...closings].filter((id) => !memories.has(id)),
  );
  for (const id of closings) memories.add(id);
  return [
    ...sealed.map((found) => found && envelopeFinding(workspace, found.envelope)),
    ...(await Promise.all([...rows, ...whole].map((row) => memoryFinding(workspace, row)))),
    ...ledgers.map((entry) => ledgerFinding(entry, { envelopes, memories })),
  ];
}

const isEnvelope = (id: string): boolean => id.startsWith(ID_PREFIXES.envelope);

/** Returns the envelope of a handoff record. */
const envelopeIdOf = (row: MemoryRow): string | undefined => tryParseRecord(row)?.envelope?.id;

/** Parses a record; undefined if it is damaged, which is reported later. */
function tryParseRecord(row: MemoryRow): AuthoredRecord | undefined {
  try {
    return parseText<AuthoredRecord>(row);
  } catch {
    return undefined;
  }
}

/** Erases the findings; a dry run only notes them. Returns false if a row has changed since it was read. */
async function applyFindings(
  run: Run,
  found: readonly (RedactionFinding | undefined)[],
): Promise<boolean> {
  const bodies: BodyFinding[] = [];
  for (const finding of found) {
    if (finding?.kind === "body") bodies.push(finding);
    else if (finding !== undefined) noteLeft(run, finding.left);
  }
  for (let at = 0; at < bodies.length; at += BATCH) {
    const batch = bodies.slice(at, at + BATCH);
    if (run.dryRun) noteErased(run, erasuresOf(run, batch, "").erasures);
    else if (!(await eraseBatch(run, batch))) return false;
  }
  return true;
}

type BodyFinding = Extract<RedactionFinding, { kind: "body" }>;

/** Notes a row that is left, unless this call erased it in an earlier attempt. */
function noteLeft(run: Run, left: UnredactedLocation): void {
  if (!run.erased.has(keyOf(left))) run.left.set(keyOf(left), left);
}

function noteErased(run: Run, erasures: readonly Erasure[]): void {
  for (const spot of erasures.map(locationOf)) run.erased.set(keyOf(spot), spot);
}

/** Returns the erasures of a batch, with stubs that name the record. */
function erasuresOf({ workspace, by, reason }: Run, batch: readonly BodyFinding[], record: string) {
  const at = workspace.clock.now();
  const mark = { at, by: by.agent, reason, record };
  return { at, erasures: batch.flatMap(({ erase }) => erase(mark)) };
}

/** Erases one batch together with its record, or nothing. Returns false if a row has changed. */
async function eraseBatch(run: Run, batch: readonly BodyFinding[]): Promise<boolean> {
  const { workspace, by, reason, secret } = run;
  const { store, ids, limits, name } = workspace;
  const record = ids.mint("memory");
  const { at, erasures } = erasuresOf(run, batch, record);
  const isHidden = (spot: RedactionLocation) =>
    secret?.isIn(spot.id) === true || run.hidden.has(keyOf(spot));
  const redacts = erasures.map((erasure) => redactedOf(erasure, isHidden));
  const count = erasures.length;
  const input = {
    id: record,
    type: "redaction",
    content: `${by.agent} redacted ${count} ${count === 1 ? "text" : "texts"}: ${reason}`,
    data: { reason },
  };
  const pen = { ids, now: at, limits, branch: MAIN_BRANCH, hallmark: { redacts } };
  const written = writeRecord(by, input, pen);
  const operation = { workspace: name, branch: MAIN_BRANCH, memory: written.record, erasures };
  const outcome = await store.redactBodies(operation);
  if (outcome.kind !== "redacted" && !(await wasStored(workspace, written.record))) {
    if (outcome.kind === "changed") return false;
    throw await refusalError(workspace, outcome);
  }
  for (const { intent } of batch)
    if (intent !== undefined) await deleteWorkEntry(workspace, intent);
  run.records.push(record);
  noteErased(run, erasures);
  if (secret === undefined) for (const { text } of batch) sample(run, text ?? "", erasures);
  return true;
}

/** Adds parts of a body that its stub does not contain, up to the limits. */
function sample({ samples }: Run, text: string, erasures: readonly Erasure[]): void {
  for (let part = 0; part < SAMPLES_OF_EACH && samples.size < MAX_SAMPLES; part++) {
    const at = Math.floor((part * text.length) / SAMPLES_OF_EACH);
    const piece = text.slice(at, at + SAMPLE);
    if (!erasures.some((erasure) => "text" in erasure && erasure.text.includes(piece))) {
      samples.add(piece);
    }
  }
}

/** Returns whether the record was stored: if the answer to a write was lost, its retry finds it there. */
async function wasStored({ store, name }: Workspace, record: NewMemory): Promise<boolean> {
  const [row] = await store.readMemories(name, [record.id]);
  return row !== undefined && digestOf(row) === record.digest;
}

function unknownTarget(workspace: Workspace, what: "memory" | "envelope", id: string): BatonError {
  return new BatonError(what === "memory" ? "unknown_memory" : "unknown_envelope", {
    message: `No ${what} has the id ${id} in workspace "${workspace.name}".`,
    path: "ids",
    hint: "Check the id and the workspace. Nothing was redacted.",
  });
}

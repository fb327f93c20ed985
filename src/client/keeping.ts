/** A workspace out and in over HTTP: lines as they come, into files of this end and from them. */
import { createReadStream } from "node:fs";
import { type BackupOptions, type BackupReport, checkedBackup } from "../archive/backup.ts";
import {
  type ExportOptions,
  type ExportReport,
  type ExportToOptions,
  relayLines,
  writeExport,
} from "../archive/export.ts";
import {
  checkedImport,
  checkedSource,
  checkFile,
  type ImportOptions,
  type ImportReport,
  type ImportSource,
} from "../archive/import.ts";
import type { KeepingQuery } from "../archive/query.ts";
import { DEFAULT_LIMITS } from "../base/limits.ts";
import { queryOf } from "../wire/address.ts";
import { type Method, STREAMS } from "../wire/routes.ts";
import { requireFields } from "./besides.ts";
import { linesOf } from "./lines.ts";
import type { Wire } from "./wire.ts";

export const exportLines = (wire: Wire, options: ExportOptions) =>
  relayLines(streamed(wire, "export", {}), options);

export function exportTo(
  wire: Wire,
  workspace: string,
  file: string,
  options: ExportToOptions,
): Promise<ExportReport> {
  const lines = (how: ExportOptions) => exportLines(wire, how);
  return writeExport({ workspace, lines }, file, options);
}

/** The export of this workspace: a hub elsewhere does not hand out its file. */
export async function backupTo(
  wire: Wire,
  workspace: string,
  given: string,
  options: BackupOptions,
): Promise<BackupReport> {
  const { onProgress } = checkedBackup(options);
  const { file, bytes, sha256, counts } = await exportTo(wire, workspace, given, {
    onProgress: (progress) => onProgress?.({ phase: "copying", ...progress }),
  });
  return { kind: "workspace", file, bytes, sha256, workspace, counts };
}

/** A file is read to its end before any of it is sent. */
export async function importFrom(
  wire: Wire,
  given: ImportSource,
  options: ImportOptions,
): Promise<ImportReport> {
  const source = checkedSource(given);
  const listening = checkedImport(options);
  if (typeof source === "string") await checkFile({ limits: DEFAULT_LIMITS }, source, listening);
  const chunks = typeof source === "string" ? createReadStream(source) : source;
  const outgoing = {
    ...addressOf("import"),
    headers: { "content-type": "application/x-ndjson" },
    body: ReadableStream.from(bytesOf(chunks)),
  };
  return wire.open(outgoing, (response) => response.json() as Promise<ImportReport>);
}

async function* bytesOf(chunks: Exclude<ImportSource, string>) {
  const encoder = new TextEncoder();
  for await (const chunk of chunks) yield typeof chunk === "string" ? encoder.encode(chunk) : chunk;
}

export const memoryLines = (wire: Wire, query: KeepingQuery) => streamed(wire, "memories", query);

function addressOf(name: keyof typeof STREAMS): { readonly method: string; readonly path: string } {
  const [method, path] = STREAMS[name].split(" ") as [Method, string];
  return { method, path };
}

async function* streamed(
  wire: Wire,
  name: "export" | "memories",
  query: object,
): AsyncGenerator<string, void, undefined> {
  requireFields(query);
  const { method, path } = addressOf(name);
  const asked = queryOf(query as Record<string, unknown>);
  const full = asked === "" ? path : `${path}?${asked}`;
  const response = await wire.open({ method, path: full, headers: {} }, async (it) => it);
  yield* linesOf(response);
}

/** Reads responses that are streamed as lines, such as exports. */
import type { MemoryExportQuery } from "../archive/memory-export-query.ts";
import type { AuditExportQuery } from "../memory/audit/read-audit.ts";
import { STREAM_ROUTES } from "../operations/table.ts";
import { queryOf } from "../operations/wire/request.ts";
import { routeOf } from "../operations/wire/route.ts";
import { requireFields } from "./connection/call-options.ts";
import { linesOf } from "./connection/lines.ts";
import type { Wire } from "./connection/wire.ts";

/** Yields the lines of a memory export. */
export const memoryLines = (wire: Wire, query: MemoryExportQuery) =>
  streamedLines(wire, "memories.export", query);

/** Yields the lines of an export of the audit records. */
export const auditLines = (wire: Wire, query: AuditExportQuery) =>
  streamedLines(wire, "events.exportAudit", query);

/** Returns the method and path of a stream. */
export function streamRoute(name: string): { readonly method: string; readonly path: string } {
  const route = STREAM_ROUTES[name];
  if (route === undefined) throw new Error(`unknown stream "${name}"`);
  const [method, path] = routeOf({ route });
  return { method, path };
}

/** Opens a stream and yields its lines. */
export async function* streamedLines(
  wire: Wire,
  name: "archive.export" | "events.exportAudit" | "memories.export",
  query: object,
): AsyncGenerator<string, void, undefined> {
  requireFields(query);
  const { method, path } = streamRoute(name);
  const asked = queryOf(query as Record<string, unknown>);
  const full = asked === "" ? path : `${path}?${asked}`;
  const response = await wire.open({ method, path: full, headers: {} }, async (it) => it);
  yield* linesOf(response);
}

/** Answers that are streamed as lines. */
import type { MemoryExportQuery } from "../archive/memory-export-query.ts";
import { STREAM_ROUTES } from "../operations/table.ts";
import { queryOf } from "../operations/wire/request.ts";
import { routeOf } from "../operations/wire/route.ts";
import { requireFields } from "./connection/call-options.ts";
import { linesOf } from "./connection/lines.ts";
import type { Wire } from "./connection/wire.ts";

export const memoryLines = (wire: Wire, query: MemoryExportQuery) =>
  streamedLines(wire, "memories.export", query);

export function streamRoute(name: string): { readonly method: string; readonly path: string } {
  const route = STREAM_ROUTES[name];
  if (route === undefined) throw new Error(`there is no stream "${name}"`);
  const [method, path] = routeOf({ route });
  return { method, path };
}

export async function* streamedLines(
  wire: Wire,
  name: "archive.export" | "memories.export",
  query: object,
): AsyncGenerator<string, void, undefined> {
  requireFields(query);
  const { method, path } = streamRoute(name);
  const asked = queryOf(query as Record<string, unknown>);
  const full = asked === "" ? path : `${path}?${asked}`;
  const response = await wire.open({ method, path: full, headers: {} }, async (it) => it);
  yield* linesOf(response);
}

/**
 * The table that the HTTP client is built from, compared with the operations it is generated from.
 */
import { describe, expect, it } from "vitest";
import { operationTable, streamRoutes } from "../../scripts/operation-table.ts";
import { OPERATION_TABLE, STREAM_ROUTES } from "../../src/operations/table.ts";

describe("src/operations/table.ts", () => {
  it("lists every operation and stream as it is defined; if not: npm run docs", () => {
    expect(OPERATION_TABLE).toEqual(operationTable());
    expect(STREAM_ROUTES).toEqual(streamRoutes());
  });
});

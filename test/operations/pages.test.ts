/**
 * Pagination of lists: every operation takes `{ after?, limit? }` and returns `{ items, next? }`.
 */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { OPERATIONS } from "../../src/operations/index.ts";

const fieldsOf = (schema: z.ZodType): readonly string[] =>
  schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];

const paged = OPERATIONS.filter(({ input }) => fieldsOf(input).includes("after"))
  // In a new task, `after` lists the tasks that it waits for.
  .filter(({ name }) => name !== "tasks.add");

describe("paginated operations", () => {
  it("are found by their `after` field [OPS-7]", () => {
    expect(paged.length).toBeGreaterThan(15);
  });

  it.each(paged)("$name takes a limit and returns items and next [OPS-7]", ({ input, output }) => {
    expect(fieldsOf(input)).toContain("limit");
    expect(fieldsOf(output)).toEqual(expect.arrayContaining(["items", "next"]));
  });

  it("use no other name for a cursor [OPS-7]", () => {
    const words = ["cursor", "before", "offset", "page"];
    const other = OPERATIONS.filter(({ input }) =>
      fieldsOf(input).some((field) => words.includes(field)),
    );
    expect(other.map(({ name }) => name)).toEqual([]);
  });
});

/** The records beyond an index, kept from search to search: always those that are beyond it now. */
import { describe, expect, it } from "vitest";
import { CLASS_WEIGHTS } from "../../src/search/bm25.ts";
import { type IndexableRow, spaceKey } from "../../src/store/search.ts";
import { UnindexedTail } from "../../src/store/unindexed-tail.ts";

const KNOWN = spaceKey(1, "known");

/** Returns the records of a store with the given contents. */
function rows(said: readonly string[]): IndexableRow[] {
  return said.map((content, n) => ({
    ...{ id: `mem-${n + 1}`, branch: "main", seq: n + 1, storedAt: 0, signature: "", link: "" },
    ...{ pos: n + 1, workspace: 1 },
    text: JSON.stringify({ agent: "ada", instance: "i", type: "fact", createdAt: 0, content }),
  }));
}

function follow(
  tail: UnindexedTail,
  all: readonly IndexableRow[],
  watermark: number,
  redactions = 0,
): number {
  let read = 0;
  tail.follow({
    ...{ watermark, last: all.length, redactions },
    read: (after) => {
      const some = all.slice(after, after + 2);
      read += some.length;
      return some;
    },
  });
  return read;
}

/** Returns the positions of records that contain the term, with any weight. */
const having = (tail: UnindexedTail, term: string): number[] =>
  CLASS_WEIGHTS.flatMap(
    (_, n) => tail.space(KNOWN)?.posting({ token: `${n}${term}`, before: 100, limit: 100 }) ?? [],
  );

describe("the unindexed tail", () => {
  it("contains the records after the watermark, and reads none twice [MEM-7]", () => {
    const tail = new UnindexedTail();
    const all = rows(["anchor", "anchor", "anchor"]);
    expect(follow(tail, all, 1)).toBe(2);
    expect(having(tail, "anchor")).toEqual([3, 2]);
    const more = rows(["anchor", "anchor", "anchor", "anchor"]);
    expect(follow(tail, more, 1)).toBe(1);
    expect(having(tail, "anchor")).toEqual([4, 3, 2]);
  });

  it("drops records that the index has by now [MEM-7]", () => {
    const tail = new UnindexedTail();
    const all = rows(["anchor", "anchor", "anchor"]);
    follow(tail, all, 0);
    expect(follow(tail, all, 2)).toBe(0);
    expect(having(tail, "anchor")).toEqual([3]);
    expect(tail.record(2)).toBeUndefined();
  });

  it("is read again when the index or the store has become shorter [MEM-7]", () => {
    const tail = new UnindexedTail();
    const all = rows(["anchor", "anchor", "anchor"]);
    follow(tail, all, 2);
    expect(follow(tail, all, 0)).toBe(3);
    expect(having(tail, "anchor")).toEqual([3, 2, 1]);
    expect(follow(tail, rows(["anchor", "sail"]), 0)).toBe(2);
    expect(having(tail, "anchor")).toEqual([1]);
  });

  it("is read again after a redaction, even if the index is at the same position [MEM-18]", () => {
    const tail = new UnindexedTail();
    follow(tail, rows(["anchor", "anchor", "secret"]), 1, 0);
    expect(having(tail, "secret")).toEqual([3]);
    follow(tail, rows(["anchor", "anchor", "sail"]), 1, 1);
    expect(having(tail, "secret")).toEqual([]);
    expect(having(tail, "sail")).toEqual([3]);
  });

  it("does not change for a search in progress [MEM-7]", () => {
    const tail = new UnindexedTail();
    const all = rows(["anchor", "anchor", "anchor"]);
    follow(tail, all, 0);
    const { kept } = tail;
    follow(tail, all, 3);
    expect(kept.record(1)?.row.id).toBe("mem-1");
    expect(tail.record(1)).toBeUndefined();
  });
});

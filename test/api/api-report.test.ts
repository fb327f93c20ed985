/** Tests the size of the public API. docs/api-report.md shows every change of it. */
import { describe, expect, it } from "vitest";
import { countOf, exportsOf, interfaces } from "../../scripts/api-report.ts";

/** What Agent has: identity, everyday calls (accept, work, …), and one member per group. */
const MOST_MEMBERS = 27;

describe("the public API", () => {
  it("has at most 150 exports", () => {
    const exported = exportsOf("src/index.ts");
    expect(exported).toContain("openHub");
    expect(exported).toContain("type Hub");
    expect(exported.length).toBeLessThanOrEqual(150);
  });

  it.each(["Hub", "Agent", "Work", "Offer", "Sent"])(
    `%s has at most ${MOST_MEMBERS} members`,
    (name) => {
      const members = interfaces().get(name) ?? [];
      expect(members.length).toBeGreaterThan(5);
      expect(countOf(members)).toBeLessThanOrEqual(MOST_MEMBERS);
    },
  );

  it(`has no interface with more than ${MOST_MEMBERS} members`, () => {
    const large = [...interfaces()].filter(([, members]) => countOf(members) > MOST_MEMBERS);
    expect(large.map(([name]) => name)).toEqual([]);
  });
});

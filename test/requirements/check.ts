// Compares the claims of the list of requirements with the tests. Returns every violation, so that
// one run reports them all.

import type { Family, Requirement, Status } from "../requirements.ts";
import type { MisplacedTag, Scan, TaggedTest } from "./scan.ts";

export type Violation =
  | { readonly code: "duplicate_id"; readonly id: string }
  | { readonly code: "wrong_family"; readonly id: string; readonly prefix: string }
  | { readonly code: "out_of_order"; readonly id: string; readonly after: string }
  | {
      readonly code: "unproved";
      readonly id: string;
      readonly status: Status;
      readonly notRun: readonly TaggedTest[];
    }
  | { readonly code: "unknown_id"; readonly id: string; readonly test: TaggedTest }
  | { readonly code: "misplaced_tag"; readonly tag: MisplacedTag };

export function checkProofs(families: readonly Family[], scan: Scan): Violation[] {
  const requirements = families.flatMap((family) => family.requirements);
  const known = new Set(requirements.map(({ id }) => id));
  return [
    ...duplicates(requirements.map(({ id }) => id)),
    ...families.flatMap(checkOrder),
    ...requirements.flatMap((requirement) => checkClaim(requirement, scan.tests)),
    ...scan.tests.flatMap((test) => unknownIds(test, known)),
    ...scan.misplaced.map((tag) => ({ code: "misplaced_tag", tag }) as const),
  ];
}

function duplicates(ids: readonly string[]): Violation[] {
  const repeated = ids.filter((id, index) => ids.indexOf(id) < index);
  return repeated.map((id) => ({ code: "duplicate_id", id }));
}

/**
 * Requires ascending numbers. Gaps are allowed, since a dropped requirement leaves its number
 * unused.
 */
function checkOrder({ prefix, requirements }: Family): Violation[] {
  return requirements.flatMap(({ id }, index): Violation[] => {
    const before = requirements[index - 1]?.id;
    if (!id.startsWith(`${prefix}-`)) return [{ code: "wrong_family", id, prefix }];
    if (before === undefined || numberOf(before) <= numberOf(id)) return [];
    return [{ code: "out_of_order", id, after: before }];
  });
}

function numberOf(id: string): number {
  return Number(id.slice(id.lastIndexOf("-") + 1));
}

function checkClaim({ id, status }: Requirement, tests: readonly TaggedTest[]): Violation[] {
  if (status === "planned") return [];
  const naming = tests.filter((test) => test.ids.includes(id));
  if (naming.some((test) => test.runs)) return [];
  return [{ code: "unproved", id, status, notRun: naming }];
}

function unknownIds(test: TaggedTest, known: ReadonlySet<string>): Violation[] {
  const unknown = test.ids.filter((id) => !known.has(id));
  return unknown.map((id) => ({ code: "unknown_id", id, test }));
}

export function explain(violation: Violation): string {
  switch (violation.code) {
    case "duplicate_id":
      return `${violation.id} is listed twice`;
    case "wrong_family":
      return `${violation.id} is listed in the family ${violation.prefix}`;
    case "out_of_order":
      return `${violation.id} is listed after ${violation.after}`;
    case "unproved": {
      const claim = `${violation.id} claims "${violation.status}" but no test that always runs names it`;
      const notRun = violation.notRun.map((test) => `${test.file}:${test.line}`);
      return notRun.length === 0 ? claim : `${claim} (may not run: ${notRun.join(", ")})`;
    }
    case "unknown_id":
      return `${violation.test.file}:${violation.test.line} names ${violation.id}, which is not listed`;
    case "misplaced_tag": {
      const { file, line, text } = violation.tag;
      return `${file}:${line} ids belong at the end of a test's own title, as in "… [ENV-5 DLV-1]": ${text}`;
    }
    default:
      return violation satisfies never;
  }
}

// Writes docs/GUARANTEES.md from the list of requirements and the tests that name them, and the
// same as JSON with every test. The page names test files only: it changes when a file starts or
// stops proving a requirement, not when a test is renamed.

import type { Family, Requirement } from "../requirements.ts";
import type { TaggedTest } from "./scan.ts";

const INTRODUCTION = `# Guarantees

<!-- Written by \`npm run guarantees\` from test/requirements.ts: change it there. -->

Each requirement of Baton, its status, and the test files that prove it. \`npm run guarantees -- --json\` prints
every single test.

- **proved**: the tests pass on every store, SQLite and PostgreSQL.
- **proved: sqlite**: the tests pass on SQLite.
- **planned**: not promised yet; the tests cover a part of it.

Tests that may be skipped do not count.`;

export function renderGuarantees(
  families: readonly Family[],
  tests: readonly TaggedTest[],
): string {
  const counted = tests.filter((test) => test.runs);
  const sections = families.map((family) => renderFamily(family, counted));
  return `${[INTRODUCTION, renderCounts(families), ...sections].join("\n\n")}\n`;
}

/** Returns every requirement with the tests that prove it. */
export function proofMap(families: readonly Family[], tests: readonly TaggedTest[]): object {
  const counted = tests.filter((test) => test.runs);
  return Object.fromEntries(
    families.flatMap(({ requirements }) =>
      requirements.map(({ id, text, status }) => {
        const proofs = counted.filter((test) => test.ids.includes(id));
        return [id, { text, status, tests: proofs.map(({ file, title }) => ({ file, title })) }];
      }),
    ),
  );
}

function renderCounts(families: readonly Family[]): string {
  const statuses = families.flatMap(({ requirements }) => requirements.map(({ status }) => status));
  const count = (wanted: Requirement["status"]) => statuses.filter((s) => s === wanted).length;
  return `Of ${statuses.length}: ${count("proved")} proved, ${count("proved: sqlite")} proved on SQLite, ${count("planned")} planned.`;
}

function renderFamily(family: Family, tests: readonly TaggedTest[]): string {
  const rows = family.requirements.map(({ id, text, status }) => {
    const files = new Set(
      tests.filter((test) => test.ids.includes(id)).map(({ file }) => `\`${file}\``),
    );
    return `| ${id} | ${cell(text)} | ${status} | ${[...files].sort().join(", ")} |`;
  });
  const head = "| id | requirement | status | test files |\n|---|---|---|---|";
  return `## ${family.prefix}: ${family.title}\n\n${head}\n${rows.join("\n")}`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll(/\s+/g, " ");
}

// Writes docs/GUARANTEES.md from the list of requirements and the tests that name them. Line numbers are
// left out on purpose: the page changes when a promise or its proof changes, not when a test moves.

import type { Family, Requirement } from "../requirements.ts";
import type { TaggedTest } from "./scan.ts";

const INTRODUCTION = `# Guarantees

<!-- Written by \`node scripts/guarantees.ts\` from test/requirements.ts: change it there. -->

Each thing Baton must do, how far it does so today, and the tests that prove it.

- **proved**: the tests hold on every store, SQLite and PostgreSQL.
- **proved: sqlite**: the tests hold on SQLite.
- **planned**: not promised yet; tests that already stand here cover a part of it.

A test that may be skipped is not counted.`;

export function renderGuarantees(
  families: readonly Family[],
  tests: readonly TaggedTest[],
): string {
  const counted = tests.filter((test) => test.runs);
  const sections = families.map((family) => renderFamily(family, counted));
  return `${[INTRODUCTION, renderCounts(families), ...sections].join("\n\n")}\n`;
}

function renderCounts(families: readonly Family[]): string {
  const statuses = families.flatMap(({ requirements }) => requirements.map(({ status }) => status));
  const count = (wanted: Requirement["status"]) => statuses.filter((s) => s === wanted).length;
  return `Of ${statuses.length}: ${count("proved")} proved, ${count("proved: sqlite")} proved on SQLite, ${count("planned")} planned.`;
}

function renderFamily(family: Family, tests: readonly TaggedTest[]): string {
  const rows = family.requirements.map(({ id, text, status }) => {
    const proofs = tests.filter((test) => test.ids.includes(id)).map(renderTest);
    return `| ${id} | ${cell(text)} | ${status} | ${proofs.join("<br>")} |`;
  });
  const head = "| id | requirement | status | tests |\n|---|---|---|---|";
  return `## ${family.prefix}: ${family.title}\n\n${head}\n${rows.join("\n")}`;
}

function renderTest({ file, title }: TaggedTest): string {
  return `\`${file}\`: ${cell(title)}`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll(/\s+/g, " ");
}

/**
 * The reviewer: reads exactly the files that were handed off (by digest) and checks them against
 * its rules. Sends findings back to the coder with file, line and what to do.
 */
import type { Agent, Work } from "batonpass";
import { Action, Change, type Review } from "./messages.ts";
import type { Desk, Player } from "./player.ts";
import type { Project } from "./project.ts";
import { PROPOSED } from "./shared.ts";
import { HANDLER, TEST } from "./sources.ts";

type Finding = Review["findings"][number];

/** Matches a file that contains `finds` but not `unless`. */
interface Rule extends Omit<Finding, "line"> {
  readonly finds: RegExp;
  readonly unless: RegExp;
}

const RULES: readonly Rule[] = [
  {
    rule: "unknown-id",
    severity: "blocker",
    file: HANDLER,
    finds: /users\.get\(/,
    unless: /404/,
    problem: "An unknown id returns 200 without a body",
    todo: "Answer 404, with a body that says why",
  },
  {
    rule: "untested-404",
    severity: "major",
    file: TEST,
    finds: /response\.status/,
    unless: /404/,
    problem: "No test covers an unknown id",
    todo: "Add one that expects 404",
  },
];

export const reviewer: Player = async (work, { agent, project, say }) => {
  const change = Change.parse(work.envelope.payload?.data);
  await requireSame(project, change);
  const findings = await findingsIn(project);
  if (findings.length === 0) return approve(work, say);
  await proposeOnce(work, agent);
  await work.handoff({
    to: work.envelope.from.agent,
    action: Action.enum.changes_requested,
    state: findings.map(findingText).join("; "),
    done: [...work.envelope.done, `Reviewed ${change.files.length} files`],
    next: findings.map(({ file, line, todo }) => `${file}:${line}: ${todo}`),
    touches: [...new Set(findings.map(({ file }) => file))],
    payload: say.review.of({ verdict: "changes_requested", findings }),
  });
};

const findingText = ({ file, line, severity, problem }: Finding): string =>
  `${severity} at ${file}:${line}: ${problem}`;

/** Proposes a convention for the shared context, since the finding applies to every endpoint. */
async function proposeOnce(work: Work, agent: Agent): Promise<void> {
  const { section, key, why } = PROPOSED;
  if ((await agent.context.item(section, key)) !== undefined) return;
  await agent.context.propose(PROPOSED, { reason: why });
  await work.note(`Proposed ${section}/${key} for the shared context.`);
}

async function approve(work: Work, say: Desk["say"]): Promise<void> {
  await work.handoff({
    to: work.envelope.from.agent,
    action: Action.enum.approved,
    state: "No finding is left.",
    done: [...work.envelope.done, "Reviewed again: every finding is fixed"],
    next: ["Have it tested"],
    payload: say.review.of({ verdict: "approved", findings: [] }),
  });
}

/** Throws if a file has changed since the handoff: its review would be worthless. */
async function requireSame(project: Project, { files }: Change): Promise<void> {
  for (const { path, digest } of files) {
    if ((await project.digest(path)) !== digest) throw new Error(`${path} has changed since`);
  }
}

async function findingsIn(project: Project): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const { finds, unless, ...finding } of RULES) {
    const text = await project.read(finding.file);
    const line = text.split("\n").findIndex((each) => finds.test(each)) + 1;
    if (line > 0 && !unless.test(text)) found.push({ ...finding, line });
  }
  return found;
}

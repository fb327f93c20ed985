/**
 * The coder: writes files, hands them to the reviewer, fixes the findings and, once approved, asks
 * for tests. Fails immediately, with a hint for the coordinator, if it cannot do a task.
 */
import type { Work } from "batonpass";
import { Action, type Change, Job, MISSING_DEPENDENCY, Review } from "./messages.ts";
import type { Desk, Player } from "./player.ts";
import { LOCK, type Project } from "./project.ts";
import {
  DECLARATIONS,
  DECLARED,
  FIRST_HANDLER,
  FIRST_TEST,
  FIXES,
  HANDLER,
  TEST,
  TYPES,
} from "./sources.ts";

export const coder: Player = async (work, desk) => {
  const { type, data } = work.envelope.payload ?? {};
  if (type === "job") return begin(work, desk, Job.parse(data));
  const review = Review.parse(data);
  return review.verdict === "approved" ? askForTests(work, desk) : fixFindings(work, desk, review);
};

function begin(work: Work, desk: Desk, job: Job): Promise<void> {
  switch (job.make) {
    case "endpoint":
      return writeEndpoint(work, desk);
    case "types":
      return writeTypes(work, desk);
    case "docs":
      return writeDocs(work, desk, job);
    case "export":
      return writeExport(work, desk);
  }
}

async function writeEndpoint(work: Work, { project, say }: Desk): Promise<void> {
  await project.write(HANDLER, FIRST_HANDLER);
  await project.write(TEST, FIRST_TEST);
  await work.note(`Wrote ${HANDLER}, and one test of it.`);
  await work.handoff({
    to: "role:reviewer",
    action: Action.enum.needs_review,
    state: "Written, with one test.",
    done: [`Wrote ${HANDLER} and ${TEST}`],
    next: ["Read both files; say what to change, and where"],
    payload: say.change.of({
      files: await filesOf(project, "added"),
      summary: "GET /users/:id reads the user from a Map and returns it as JSON.",
      fixes: [],
    }),
  });
}

async function fixFindings(
  work: Work,
  { project, say, agent }: Desk,
  review: Review,
): Promise<void> {
  for (const { rule, file } of review.findings) {
    const edit = FIXES[rule];
    if (edit === undefined) {
      await work.clarify(`How do I fix "${rule}"?`);
      return;
    }
    await project.write(file, edit(await project.read(file)));
  }
  const { items: changes } = await agent.context.changes(); // Since its last read.
  const fixed = review.findings.map(({ rule }) => rule);
  await work.note(`Fixed ${fixed.join(" and ")}.${changesText(changes)}`);
  await work.handoff({
    to: "role:reviewer",
    action: Action.enum.needs_review,
    state: "Every finding is fixed.",
    done: [...work.envelope.done, "Fixed every finding of the review"],
    next: ["Read both files again"],
    payload: say.change.of({
      files: await filesOf(project, "changed"),
      summary: "An unknown id returns 404, and a test covers it.",
      fixes: fixed,
    }),
  });
}

async function askForTests(work: Work, { say }: Desk): Promise<void> {
  await work.handoff({
    to: "role:tester",
    action: Action.enum.needs_test,
    state: "Written, reviewed and approved; not tested.",
    done: [...work.envelope.done, "The review approved it"],
    next: ["Run the tests and report the counts"],
    doNotRedo: ["The review: it is approved"],
    touches: [LOCK],
    payload: say.testRequest.of({
      command: ["node", "--test"],
      files: [HANDLER, TEST],
      expects: ["GET /users/1 answers the user", "GET /users/99 answers 404 and says why"],
    }),
    expects: [
      { name: "report", type: "json", format: "test-report", criteria: ["All tests were run"] },
    ],
    policy: { attempts: 3, backoff: { firstMs: 500, longestMs: 2_000 } },
  });
}

/** Fails permanently without a type that another agent has to define: a retry would not help. */
async function writeTypes(work: Work, { project }: Desk): Promise<void> {
  if (project.has(TYPES)) {
    await project.write(DECLARATIONS, DECLARED);
    await work.complete({ summary: `${DECLARATIONS} uses the User of ${TYPES}.` });
    return;
  }
  await work.fail({
    type: "missing_type",
    class: "permanent",
    attempted: `Write ${DECLARATIONS} for callers in TypeScript`,
    message: "The type User is not defined",
    hints: [`Define User in ${TYPES} first: the architect knows the data`],
  });
}

async function writeExport(work: Work, { project }: Desk): Promise<void> {
  if (project.hasModule("pdf-writer")) {
    await work.clarify("What belongs into the PDF?");
    return;
  }
  await work.fail({
    type: MISSING_DEPENDENCY,
    class: "permanent",
    attempted: 'import "pdf-writer"',
    message: "No module pdf-writer",
    hints: [
      "Install it, which the constraint no-dependencies forbids",
      "Or export CSV: that needs nothing",
    ],
  });
}

/** Starts when the tasks it waits for are done, with their results. */
async function writeDocs(work: Work, { project }: Desk, { route, files }: Job): Promise<void> {
  const [file = "README.md"] = files;
  const results = (work.envelope.results ?? []).map(({ task, summary }) => `- ${task}: ${summary}`);
  await project.write(file, `# Users\n\n\`${route}\`\n\n${results.join("\n")}\n`);
  await work.complete({ summary: `${file} says what it answers, and how it was tested.` });
}

async function filesOf(project: Project, change: "added" | "changed"): Promise<Change["files"]> {
  const paths = [HANDLER, TEST];
  return Promise.all(
    paths.map(async (path) => ({ path, digest: await project.digest(path), change })),
  );
}

/** Lists changes of the shared context for a note. */
const changesText = (
  changes: readonly { readonly section: string; readonly key: string }[],
): string =>
  changes.length === 0
    ? ""
    : ` Follows ${changes.map(({ section, key }) => `${section}/${key}`).join(", ")}.`;

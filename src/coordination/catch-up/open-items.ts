/**
 * What is open where an agent has worked: questions that wait for its answer, and decisions that nobody has
 * made yet. For whoever wakes without a handoff: others may be waiting all the same.
 */

import { listQuestions } from "../../delivery/settle/questions.ts";
import { ledgerOf } from "../../ledger/ledger.ts";
import { fenceText, quoteText } from "../../text/fence.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** Each with what it is about, ready to be listed. Without an agent, of the tasks alone. */
export async function listOpenItems(
  workspace: Workspace,
  agent: string,
  tasks: readonly string[],
): Promise<{ readonly questions: readonly string[]; readonly decisions: readonly string[] }> {
  const [asked, ledgers] = await Promise.all([
    agent === "" ? [] : listQuestions(workspace, agent),
    Promise.all(tasks.map((task) => ledgerOf(workspace, task))),
  ]);
  const decisions = ledgers.flatMap((ledger) =>
    (ledger?.decisions ?? []).map(({ id, owner, question }) => {
      const by = owner === undefined ? "" : `, to be decided by ${owner}`;
      return `- ${quoteText(ledger?.task ?? "")}: ${id}${by}\n${fenceText(question)}`;
    }),
  );
  return {
    questions: asked.map(
      ({ delivery: { id, holder, task }, question }) =>
        `- ${quoteText(task)}: ${holder} asks (${id})\n${fenceText(question)}`,
    ),
    decisions,
  };
}

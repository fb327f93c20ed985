/**
 * Lists open items where an agent has worked: questions that wait for its answer, and decisions that were not
 * made yet. For an agent that starts without a handoff, because others may still wait for it.
 */

import { listQuestions } from "../../delivery/settle/questions.ts";
import { ledgerOf } from "../../ledger/ledger.ts";
import { fenceText, quoteText } from "../../text/fence.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** Returns the open items as list entries. With an empty agent, only the decisions of the tasks. */
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

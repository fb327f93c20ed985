/** Prints the preview of a handoff: mandatory content, the receiver's view and the lint findings. */
import type { LintReport } from "../../delivery/send/lint-handoff.ts";
import type { Preview } from "../../delivery/send/preview.ts";
import type { Hub } from "../../hub/hub.ts";
import { bold, dim, printLine } from "../terminal.ts";
import { printField } from "./envelope.ts";
import { printLintReport } from "./findings.ts";
import { printView } from "./view.ts";

/** Prints the preview of a handoff that was not sent. */
export async function printPreview(
  hub: Hub,
  { view, envelope, to }: Preview,
  report: LintReport,
): Promise<void> {
  printLine(`${bold(`${envelope.from.agent} → ${to}`)}  ${envelope.action}${dim(", not sent")}`);
  printMusts(envelope);
  printLine();
  await printView(hub, view);
  printLine();
  printLintReport(report);
}

/** Prints what every view contains regardless of the budget: intent, musts and open decisions. */
function printMusts({ intent, origin, constraints, decisions }: Preview["envelope"]): void {
  printField("always sent", [
    ...(origin === undefined ? [] : [`original intent: ${origin}`]),
    intent,
  ]);
  printField(
    "must",
    constraints.filter(({ level }) => level === "must").map(({ id, rule }) => `${rule} (${id})`),
  );
  printField(
    "undecided",
    decisions.map(({ id, question }) => `${question} (${id})`),
  );
}

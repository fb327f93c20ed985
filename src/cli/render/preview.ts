/** A handoff before it is sent, for people: what goes whatever it costs, what fits, and what could be better. */
import type { LintReport } from "../../delivery/send/lint-handoff.ts";
import type { Preview } from "../../delivery/send/preview.ts";
import type { Hub } from "../../hub/hub.ts";
import { bold, dim, printLine } from "../terminal.ts";
import { printField } from "./envelope.ts";
import { printLintReport } from "./findings.ts";
import { printView } from "./view.ts";

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

/** What travels to the end of the line, however small the budget. */
function printMusts({ intent, origin, constraints, decisions }: Preview["envelope"]): void {
  printField("always goes", [
    ...(origin === undefined ? [] : [`what was asked for at first: ${origin}`]),
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

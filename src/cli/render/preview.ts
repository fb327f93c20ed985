/** A handoff before it is sent, for people: what goes whatever it costs, what fits, and what could be better. */
import type { LintReport } from "../../delivery/send/lint.ts";
import type { Preview } from "../../delivery/send/preview.ts";
import type { Hub } from "../../hub/hub.ts";
import { bold, dim, say } from "../terminal.ts";
import { sayField } from "./envelope.ts";
import { sayFindings } from "./findings.ts";
import { sayView } from "./view.ts";

export async function sayPreview(
  hub: Hub,
  { view, envelope, to }: Preview,
  report: LintReport,
): Promise<void> {
  say(`${bold(`${envelope.from.agent} → ${to}`)}  ${envelope.action}${dim(", not sent")}`);
  sayMusts(envelope);
  say();
  await sayView(hub, view);
  say();
  sayFindings(report);
}

/** What travels to the end of the line, however small the budget. */
function sayMusts({ intent, origin, constraints, decisions }: Preview["envelope"]): void {
  sayField("always goes", [
    ...(origin === undefined ? [] : [`what was asked for at first: ${origin}`]),
    intent,
  ]);
  sayField(
    "must",
    constraints.filter(({ level }) => level === "must").map(({ id, rule }) => `${rule} (${id})`),
  );
  sayField(
    "undecided",
    decisions.map(({ id, question }) => `${question} (${id})`),
  );
}

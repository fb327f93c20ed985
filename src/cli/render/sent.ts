/** Prints the result of sending a handoff: its deliveries, whether it was new, and warnings. */
import type { Sent } from "../../hub/sent.ts";
import { bad, dim, oneLine, printJson, printLine } from "../terminal.ts";
import { printDelivery } from "./delivery.ts";
import { printFindings } from "./findings.ts";
import { printRedactedSecrets } from "./redacted-secrets.ts";
import { gapLine } from "./view.ts";

/** Prints the result; `more`: additional fields of the JSON output. */
export async function printSent(sent: Sent, json: boolean | undefined, more = {}): Promise<void> {
  const { envelope, digest, memory, joined, cycle, stopped, deprecated, secrets } = sent;
  const { findings, repeats } = sent;
  const deliveries = await Promise.all(sent.each.map((one) => one.status()));
  if (json) {
    const shown = { deliveries, joined, envelope, digest, memory, cycle, stopped, deprecated };
    printJson({ ...shown, findings, repeats, ...(secrets.length > 0 && { secrets }), ...more });
    return;
  }
  for (const delivery of deliveries) printDelivery(delivery);
  const news = [JOINED[joined], cycle.length > 0 && CYCLE, stopped && STOPPED];
  for (const each of news.filter(Boolean)) printLine(dim(`  ${each}`));
  for (const { about, path, why } of envelope.flags ?? []) {
    printLine(bad(`  ${oneLine(`${path}: ${why} (${about})`, 2)}`));
  }
  printRedactedSecrets(secrets);
  for (const gap of envelope.gaps ?? []) printLine(bad(`  ${gapLine(gap)}`));
  // Secrets were printed above; deprecated fields are also reported as findings.
  printFindings(findings.filter(({ rule }) => rule !== "secret" || secrets.length === 0));
}

const JOINED: Readonly<Record<Sent["joined"], string>> = {
  new: "",
  superseded: "replaced the previous handoff, which was not accepted yet",
  extended: "added to the accepted work",
  repeated: "already sent with this key: returned the same handoff",
};
const CYCLE = "cycle: the task reached this receiver before with the same payload";
const STOPPED = "stopped: the line exceeds its maximum length; see baton dead show";

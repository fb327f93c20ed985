/** What a sender is shown: each delivery, and whether it was new work. */
import type { Sent } from "../../hub/sent.ts";
import { bad, dim, oneLine, printJson, printLine } from "../terminal.ts";
import { printDelivery } from "./delivery.ts";
import { printFindings } from "./findings.ts";
import { printRedactedSecrets } from "./redacted-secrets.ts";
import { gapLine } from "./view.ts";

/** `more`: what the caller has to tell besides, as data. */
export async function printSent(sent: Sent, json: boolean | undefined, more = {}): Promise<void> {
  const { envelope, digest, memory, joined, cycle, stopped, deprecated, secrets } = sent;
  const { findings, repeats } = sent;
  const deliveries = await Promise.all(sent.each.map((one) => one.status()));
  if (json) {
    const told = { deliveries, joined, envelope, digest, memory, cycle, stopped, deprecated };
    printJson({ ...told, findings, repeats, ...(secrets.length > 0 && { secrets }), ...more });
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
  // Secrets were named above, and deprecated fields are a finding too.
  printFindings(findings.filter(({ rule }) => rule !== "secret" || secrets.length === 0));
}

const JOINED: Readonly<Record<Sent["joined"], string>> = {
  new: "",
  superseded: "takes the place of the one before, which nobody had begun",
  extended: "added to the work that is under way",
  repeated: "sent before with this key: the same handoff",
};
const CYCLE = "the line came here before with the same payload: a cycle";
const STOPPED = "the line is longer than it may be, and has stopped: baton dead show";

/** What a sender is shown: each delivery, and whether it was new work. */
import type { Sent } from "../../hub/sent.ts";
import { bad, dim, oneLine, say, sayJson } from "../terminal.ts";
import { sayRow } from "./delivery.ts";
import { sayEach } from "./findings.ts";
import { sayRedacted } from "./redacted.ts";
import { gapLine } from "./view.ts";

/** `more`: what the caller has to tell besides, as data. */
export async function saySent(sent: Sent, json: boolean | undefined, more = {}): Promise<void> {
  const { envelope, digest, memory, joined, cycle, stopped, deprecated, secrets } = sent;
  const { findings, repeats } = sent;
  const deliveries = await Promise.all(sent.each.map((one) => one.status()));
  if (json) {
    const told = { deliveries, joined, envelope, digest, memory, cycle, stopped, deprecated };
    sayJson({ ...told, findings, repeats, ...(secrets.length > 0 && { secrets }), ...more });
    return;
  }
  for (const delivery of deliveries) sayRow(delivery);
  const news = [JOINED[joined], cycle.length > 0 && CYCLE, stopped && STOPPED];
  for (const each of news.filter(Boolean)) say(dim(`  ${each}`));
  for (const { about, path, why } of envelope.flags ?? []) {
    say(bad(`  ${oneLine(`${path}: ${why} (${about})`, 2)}`));
  }
  sayRedacted(secrets);
  for (const gap of envelope.gaps ?? []) say(bad(`  ${gapLine(gap)}`));
  // Secrets were named above, and deprecated fields are a finding too.
  sayEach(findings.filter(({ rule }) => rule !== "secret" || secrets.length === 0));
}

const JOINED: Readonly<Record<Sent["joined"], string>> = {
  new: "",
  superseded: "takes the place of the one before, which nobody had begun",
  extended: "added to the work that is under way",
  repeated: "sent before with this key: the same handoff",
};
const CYCLE = "the line came here before with the same payload: a cycle";
const STOPPED = "the line is longer than it may be, and has stopped: baton dead show";

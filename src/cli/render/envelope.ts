/** An envelope for people: what is to be done, by which rules, and from where. */
import type { Envelope } from "../../envelope/schema.ts";
import type { Hub } from "../../hub/hub.ts";
import { bold, dim, oneLine, plural, printLine } from "../terminal.ts";

const LABEL = 13;
const SHOWN_REFERENCES = 5;

/** A labelled line for each value; the label stands at the first. */
export function printField(label: string, values: readonly string[]): void {
  for (const [i, value] of values.entries()) {
    printLine(`  ${dim((i === 0 ? label : "").padEnd(LABEL))}${oneLine(value, LABEL + 2)}`);
  }
}

export async function printEnvelope(hub: Hub, envelope: Envelope): Promise<void> {
  const { from, to, action, hop, constraints, payload, reconstructed } = envelope;
  printLine(`${bold(`${from.agent} → ${nameOf(to)}`)}  ${action}${dim(`, hop ${hop}`)}`);
  printField("intent", [envelope.intent]);
  printField("origin", envelope.origin === undefined ? [] : [envelope.origin]);
  printField("stands", envelope.state === undefined ? [] : [envelope.state]);
  printField("failed", envelope.failure ? failureOf(envelope.failure) : []);
  printField("done", envelope.done);
  printField("next", envelope.next);
  for (const level of new Set(constraints.map((constraint) => constraint.level))) {
    const rules = constraints.filter((constraint) => constraint.level === level);
    printField(
      level,
      rules.map(({ rule }) => rule),
    );
  }
  printField("do not redo", envelope.doNotRedo);
  printField("blocked", envelope.blocked.map(blockedOf));
  printField(
    "undecided",
    envelope.decisions.map(({ question }) => question),
  );
  printField(
    "released",
    (envelope.released ?? []).map(({ id, by, reason }) => `${id}, by ${by}: ${reason}`),
  );
  printField(
    "flagged",
    (envelope.flags ?? []).map(({ about, path, why }) => `${about}, ${path}: ${why}`),
  );
  printField("touches", envelope.touches ?? []);
  printField("artifacts", envelope.artifacts.map(artifactOf));
  printField("asks for", envelope.expects.map(expectedOf));
  printField("payload", payload ? [`${payload.type}: ${JSON.stringify(payload.data)}`] : []);
  printField("history", envelope.history.map(historyOf));
  printField("results", (envelope.results ?? []).map(resultOf));
  printField("refers to", await referencesOf(hub, envelope));
  printField("made", reconstructed ? [reconstructionOf(reconstructed)] : []);
}

/** What went wrong, then what might mend it. */
function failureOf({ type, class: kind, message, hints }: NonNullable<Envelope["failure"]>) {
  return [`${type} (${kind}): ${message}`, ...hints.map((hint) => `might mend it: ${hint}`)];
}

const reconstructionOf = ({ notes, holder, attempt }: NonNullable<Envelope["reconstructed"]>) =>
  `by the hub, from ${plural(notes, "note")} of ${holder}, who fell silent on attempt ${attempt}`;

/** `verdict (approval): tests pass` */
export function expectedOf({ name, type, criteria }: Envelope["expects"][number]): string {
  return `${name} (${type})${criteria.length === 0 ? "" : `: ${criteria.join("; ")}`}`;
}

const blockedOf = ({ what, on }: Envelope["blocked"][number]): string =>
  on === undefined ? what : `${what}, waits for ${on}`;

const artifactOf = ({ kind, path, note }: Envelope["artifacts"][number]): string =>
  note === undefined ? `${kind} ${path}` : `${kind} ${path}: ${note}`;

function historyOf({ agent, did, decided, why }: Envelope["history"][number]): string {
  return [`${agent} ${did}`, decided, why && `because ${why}`].filter(Boolean).join("; ");
}

function resultOf(result: NonNullable<Envelope["results"]>[number]): string {
  const outputs = result.outputs === undefined ? "" : ` ${JSON.stringify(result.outputs)}`;
  return `${result.agent} on ${result.task}: ${result.summary ?? ""}${outputs}`;
}

/** What the references say, the first few of them. */
async function referencesOf(hub: Hub, { refs }: Envelope): Promise<string[]> {
  const shown = refs.slice(0, SHOWN_REFERENCES).map(async ({ id, summary }) => {
    const memory = await hub.memories.read(id);
    return `${memory.type}: ${summary ?? (memory.redacted ? "(redacted)" : memory.content)}`;
  });
  const left = refs.length - shown.length;
  return [...(await Promise.all(shown)), ...(left === 0 ? [] : [`and ${left} more`])];
}

export function nameOf(to: Envelope["to"]): string {
  switch (to.kind) {
    case "agent":
      return to.agent;
    case "role":
      return `role:${to.role}`;
    case "channel":
      return `channel:${to.channel}`;
  }
}

/** An envelope for people: what is to be done, by which rules, and from where. */
import type { Envelope } from "../../envelope/schema.ts";
import type { Hub } from "../../hub/hub.ts";
import { bold, dim, oneLine, plural, say } from "../terminal.ts";

const LABEL = 13;
const SHOWN_REFERENCES = 5;

/** A labelled line for each value; the label stands at the first. */
export function sayField(label: string, values: readonly string[]): void {
  for (const [i, value] of values.entries()) {
    say(`  ${dim((i === 0 ? label : "").padEnd(LABEL))}${oneLine(value, LABEL + 2)}`);
  }
}

export async function sayEnvelope(hub: Hub, envelope: Envelope): Promise<void> {
  const { from, to, action, hop, constraints, payload, reconstructed } = envelope;
  say(`${bold(`${from.agent} → ${nameOf(to)}`)}  ${action}${dim(`, hop ${hop}`)}`);
  sayField("intent", [envelope.intent]);
  sayField("origin", envelope.origin === undefined ? [] : [envelope.origin]);
  sayField("stands", envelope.state === undefined ? [] : [envelope.state]);
  sayField("failed", envelope.failure ? failureOf(envelope.failure) : []);
  sayField("done", envelope.done);
  sayField("next", envelope.next);
  for (const level of new Set(constraints.map((constraint) => constraint.level))) {
    const rules = constraints.filter((constraint) => constraint.level === level);
    sayField(
      level,
      rules.map(({ rule }) => rule),
    );
  }
  sayField("do not redo", envelope.doNotRedo);
  sayField("blocked", envelope.blocked.map(blockedOf));
  sayField(
    "undecided",
    envelope.decisions.map(({ question }) => question),
  );
  sayField(
    "released",
    (envelope.released ?? []).map(({ id, by, reason }) => `${id}, by ${by}: ${reason}`),
  );
  sayField(
    "flagged",
    (envelope.flags ?? []).map(({ about, path, why }) => `${about}, ${path}: ${why}`),
  );
  sayField("touches", envelope.touches ?? []);
  sayField("artifacts", envelope.artifacts.map(artifactOf));
  sayField("asks for", envelope.expects.map(expectedOf));
  sayField("payload", payload ? [`${payload.type}: ${JSON.stringify(payload.data)}`] : []);
  sayField("history", envelope.history.map(historyOf));
  sayField("results", (envelope.results ?? []).map(resultOf));
  sayField("refers to", await referencesOf(hub, envelope));
  sayField("made", reconstructed ? [reconstructionOf(reconstructed)] : []);
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

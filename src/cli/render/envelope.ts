/** Prints an envelope as labelled lines: intent, state, rules, history and references. */
import type { Envelope } from "../../envelope/schema.ts";
import type { Hub } from "../../hub/hub.ts";
import { bold, dim, oneLine, plural, printLine } from "../terminal.ts";

const LABEL = 13;
const SHOWN_REFERENCES = 5;

/** Prints one line per value; only the first line has the label. Prints nothing without values. */
export function printField(label: string, values: readonly string[]): void {
  for (const [i, value] of values.entries()) {
    printLine(`  ${dim((i === 0 ? label : "").padEnd(LABEL))}${oneLine(value, LABEL + 2)}`);
  }
}

/** Prints the fields of an envelope that are set, and the first 5 references with their text. */
export async function printEnvelope(hub: Hub, envelope: Envelope): Promise<void> {
  const { from, to, action, hop, constraints, payload, reconstructed } = envelope;
  printLine(`${bold(`${from.agent} → ${nameOf(to)}`)}  ${action}${dim(`, hop ${hop}`)}`);
  printField("intent", [envelope.intent]);
  printField("origin", envelope.origin === undefined ? [] : [envelope.origin]);
  printField("state", envelope.state === undefined ? [] : [envelope.state]);
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
  printField("expects", envelope.expects.map(expectedOf));
  printField("payload", payload ? [`${payload.type}: ${JSON.stringify(payload.data)}`] : []);
  printField("history", envelope.history.map(historyOf));
  printField("results", (envelope.results ?? []).map(resultOf));
  printField("references", await referencesOf(hub, envelope));
  printField("created", reconstructed ? [reconstructionOf(reconstructed)] : []);
}

/** Formats the failure, then its hints. */
function failureOf({ type, class: kind, message, hints }: NonNullable<Envelope["failure"]>) {
  return [`${type} (${kind}): ${message}`, ...hints.map((hint) => `hint: ${hint}`)];
}

const reconstructionOf = ({ notes, holder, attempt }: NonNullable<Envelope["reconstructed"]>) =>
  `by the hub, from ${plural(notes, "note")} of ${holder}, which stopped responding on attempt ${attempt}`;

/** Formats an expected output: `verdict (approval): tests pass`. */
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

/** Returns type and text of the first references, and how many more there are. */
async function referencesOf(hub: Hub, { refs }: Envelope): Promise<string[]> {
  const shown = refs.slice(0, SHOWN_REFERENCES).map(async ({ id, summary }) => {
    const memory = await hub.memories.read(id);
    return `${memory.type}: ${summary ?? (memory.redacted ? "(redacted)" : memory.content)}`;
  });
  const left = refs.length - shown.length;
  return [...(await Promise.all(shown)), ...(left === 0 ? [] : [`and ${left} more`])];
}

/** Returns a receiver as options write it: `coder`, `role:coder`, `channel:news`. */
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

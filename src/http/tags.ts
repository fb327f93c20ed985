/** What the calls are about: the chapters of the reference, each with the first parts of its paths. */

interface Tag {
  readonly description: string;
  readonly parts: readonly string[];
}

export const TAGS: Readonly<Record<string, Tag>> = {
  agents: {
    description: "Who is calling, who there is, and the tokens they come in with.",
    parts: ["me", "agents", "tokens"],
  },
  memories: {
    description: "What is known: remembered, read, recalled, pinned, quarantined, redacted.",
    parts: [
      ...["memories", "recall", "pins", "quarantine", "redactions", "sql", "document"],
      ...["catch-up", "memories-export"],
    ],
  },
  traces: { description: "What agents did, step by step.", parts: ["traces"] },
  branches: { description: "Branches: begun, compared, merged, given up.", parts: ["branches"] },
  handoffs: {
    description: "Handing over: sent, joined, linted, previewed.",
    parts: ["handoffs", "envelopes"],
  },
  deliveries: {
    description: "What became of a handoff, and what its sender or a person does about it.",
    parts: ["deliveries", "questions", "dead", "breakers", "books", "carry-out"],
  },
  inbox: {
    description: "Receiving: what waits, claimed, accepted or left.",
    parts: ["inbox", "offers"],
  },
  work: { description: "Working on what was accepted, by its handle.", parts: ["work", "once"] },
  channels: { description: "Channels, and the table of routes.", parts: ["channels", "routes"] },
  tasks: {
    description: "Tasks, what follows each to its end, and what is being worked on.",
    parts: ["tasks", "closed-tasks", "reservations"],
  },
  context: { description: "What the whole team shares and keeps to.", parts: ["context"] },
  failures: {
    description: "What failed, and who decides about it.",
    parts: ["failures", "failure-rules"],
  },
  settings: {
    description: "The rules of a workspace.",
    parts: ["settings", "payload-types", "profiles", "secrets-found"],
  },
  keeping: {
    description: "How a workspace is kept: watched, verified, exported, pruned.",
    parts: ["events", "export", "import", "prune", "verify", "index", "models", "embed"],
  },
};

const tagByPart = new Map(
  Object.entries(TAGS).flatMap(([tag, { parts }]) => parts.map((part) => [part, tag] as const)),
);

/** The chapter of a path. */
export function tagOf(path: string): string {
  const part = path.split("/")[2] ?? "";
  const tag = tagByPart.get(part);
  if (tag === undefined) throw new Error(`no chapter of the reference has /v1/${part}`);
  return tag;
}

/**
 * Renders docs/TEAM.md: runs examples/coder-reviewer-tester on a hub with a deterministic clock and
 * deterministic ids, and reads the messages back from its store. None of them is written by hand.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  endsOf,
  messagesOf,
  playTeam,
  storyOf,
} from "../examples/coder-reviewer-tester/exercise.ts";
import { messageSchemas } from "../examples/coder-reviewer-tester/messages.ts";
import { contextJsonSchema, type Envelope, type Hub } from "../src/index.ts";
import { memoryHub } from "../src/testing/index.ts";

/** Time that the virtual clock advances per turn of an agent. */
const TURN_MS = 5_000;
const IDLE_MS = 1_000;
const WIDTH = 110;

export async function renderTeamPage(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "baton-team-"));
  const { hub, clock } = memoryHub({ seed: 5 });
  try {
    const between = (idle: boolean): void => clock.advance(idle ? IDLE_MS : TURN_MS);
    const { task } = await playTeam(hub, { folder, between });
    return await pageOf(hub, task);
  } finally {
    await hub.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function pageOf(hub: Hub, task: string): Promise<string> {
  const messages = await messagesOf(hub, task);
  const sections = [
    INTRODUCTION,
    schemas(),
    await sharedContext(hub),
    handoffs(messages),
    await retryableFailureSection(hub, messages),
    await permanentFailureSection(hub, messages),
    await timelineSection(hub, task),
  ];
  return `${sections.join("\n\n")}\n`;
}

const INTRODUCTION = `# A team: coder, reviewer, tester

<!-- Written by \`npm run docs\` from a run of examples/coder-reviewer-tester: change it there. -->

A complete handoff protocol for three agents and a coordinator: what they send to each other, what all of them can
read, what happens when something fails. The task is a small one, an HTTP endpoint that answers a user by its id. The agents
are stand-ins without a language model; what they do is real: files are written, reviewed by rules, fixed and tested.

\`\`\`sh
npx baton demo team                          # plays it on a temporary store and prints what happened
npm run example -- coder-reviewer-tester     # the same from a clone; --json prints every message
\`\`\`

Everything on this page was read from the store after such a run, with a clock and ids that repeat.

| file | what is in it |
|---|---|
| \`examples/coder-reviewer-tester/messages.ts\` | what they say: schemas, registered with the hub |
| \`examples/coder-reviewer-tester/shared.ts\` | what all of them can read |
| \`examples/coder-reviewer-tester/coder.ts\` | writes, fixes, asks for tests; fails at once what it cannot do |
| \`examples/coder-reviewer-tester/reviewer.ts\` | reads what was handed over, finds the defect, says what to do where |
| \`examples/coder-reviewer-tester/tester.ts\` | runs the tests, or fails because another run holds the lock |
| \`examples/coder-reviewer-tester/coordinator.ts\` | splits the feature into tasks, takes in proposals, decides about failures |
| \`examples/coder-reviewer-tester/exercise.ts\` | sets the scene and lets them play; \`main.ts\` beside it opens the hub |

## What a message carries

A message is a handoff: an [envelope](PROTOCOL.md), sealed and stored together with its delivery. Of its fields, these are what
a team agrees on:

| what the receiver needs | where it stands | who says it |
|---|---|---|
| which task it is about | \`task\`, and \`parents\`: the envelopes it continues | the sender, or its work |
| who sent it | \`from\`: agent, session and role | the hub |
| what the sender did | \`action\`, one word | the sender |
| the work product | \`payload\`: a typed object, checked when it is sent | the sender |
| what it has to know | \`intent\`, \`state\`, \`done\`, \`next\`, \`doNotRedo\`, \`constraints\`, \`decisions\`, \`refs\`; its [view](CONTEXT.md) fits its window | the sender, and what the task carries |
| for monitoring | \`metadata\`, \`hop\`, and the delivery's attempts | the hub |

A malformed message is refused with all of its violations and never delivered.`;

function schemas(): string {
  const { action, ...messages } = messageSchemas();
  const each = Object.entries(messages).map(([name, schema]) => `### ${name}\n\n${json(schema)}`);
  return `## The messages

The payloads, as JSON Schema (printed from the schemas in \`messages.ts\`). The \`action\` beside them is one of:

${json(action)}

${each.join("\n\n")}`;
}

async function sharedContext(hub: Hub): Promise<string> {
  const coder = await hub.agent("coder");
  const { text } = await coder.context.text();
  return `## The shared context

All agents read it, only a coordinator or memory-keeper writes it; others propose, and a proposal is a handoff too. An
item is one of four:

<details><summary>JSON Schema of an item</summary>

${json(contextJsonSchema())}

</details>

What a coder reads at the end of this run, as it is put before a model:

${block("text", text.trimEnd())}`;
}

function handoffs(messages: readonly Envelope[]): string {
  const [toReviewer, toCoder, toTester] = ["needs_review", "changes_requested", "needs_test"].map(
    (action) => messages.find((message) => message.action === action),
  );
  return `## Three handoffs

In the order of the table above, without fields that are empty or only say how the envelope is kept.

### Coder → reviewer

${json(essential(toReviewer))}

### Reviewer → coder, with feedback

${json(essential(toCoder))}

### Coder → tester

Its \`policy\` says how many attempts it gets, \`expects\` what has to be handed in, \`touches\` what the work needs: the receiver
sees which other agents have reserved that.

${json(essential(toTester))}`;
}

async function retryableFailureSection(hub: Hub, messages: readonly Envelope[]): Promise<string> {
  const asked = messages.find(({ action }) => action === "needs_test");
  const line = await hub.tasks.line(asked?.task ?? "");
  const delivery = line.find(({ envelope }) => envelope.id === asked?.id)?.deliveries[0];
  const [attempt] = await hub.deliveries.attempts(delivery?.id ?? "");
  const [mistake] = (await hub.memories.recent({ task: asked?.task ?? "", type: "mistake" })).items;
  return `## A retryable failure

The tester finds a lock: another run is in progress. It fails the attempt and does not wait. What it reports:

${json(attempt?.reason)}

The handoff's policy has attempts left, so no decision is needed. The record of the failed attempt says what follows:

${json(mistake?.data?.["decision"])}

The next attempt succeeds: the delivery is \`${delivery?.state}\`, at attempt ${delivery?.attempt}.`;
}

async function permanentFailureSection(hub: Hub, messages: readonly Envelope[]): Promise<string> {
  const reports = messages.filter(({ failure }) => failure !== undefined);
  const rendered = await Promise.all(
    reports.map(async (report) => {
      const [decision] = await decisionsOf(hub, report.task);
      return `### ${report.failure?.type}

${json(essential(report))}

What was decided:

${json(decision)}`;
    }),
  );
  return `## Permanent failures

The coder cannot do two of its tasks, and says so with what it attempted and what might help. Each failure becomes a message of
its own: the hub reports it to the coordinator, in the same envelope as everything else, before the work is parked. What the
coordinator decides is a record that points at the report: one is rerouted by a rule, the other ends
its task.

${rendered.join("\n\n")}`;
}

/** Returns the recorded decisions about failures of a task. */
async function decisionsOf(hub: Hub, task: string): Promise<unknown[]> {
  const { items: steps } = await hub.tasks.timeline(task);
  const records = steps.filter(({ kind }) => kind === "decided").map(({ memory }) => memory ?? "");
  return Promise.all(records.map(async (id) => (await hub.memories.read(id)).data));
}

async function timelineSection(hub: Hub, task: string): Promise<string> {
  const story = await storyOf(hub, task);
  const ends = await endsOf(hub, task);
  return `## The whole task

Every message between them, every failure and every decision, in order; \`role:coder\` is any agent with that role, \`baton\` the hub.
\`npm run baton -- timeline ${task} --children\` prints the same in full.

${block("text", [...story, "", ...ends].join("\n"))}`;
}

/** The fields that a receiver acts on, in the order of the table above. */
const ESSENTIAL = [
  ...(["task", "parents", "from", "to", "action", "payload", "failure"] as const),
  ...(["intent", "origin", "state", "done", "next", "doNotRedo"] as const),
  ...(["touches", "expects", "priority", "policy", "hop", "metadata"] as const),
] satisfies readonly (keyof Envelope)[];

function essential(envelope: Envelope | undefined): Record<string, unknown> {
  if (envelope === undefined)
    throw new Error("The run did not produce a message that the page shows");
  const selected = ESSENTIAL.map((field) => [field, envelope[field]] as const);
  return Object.fromEntries(selected.filter(([, value]) => !isEmpty(value)));
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.length === 0);

const block = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;
const json = (value: unknown): string => block("json", compact(value, ""));

/** Renders JSON, with every value that fits into the width on one line. */
function compact(value: unknown, indent: string): string {
  const inline = JSON.stringify(value, null, 1).replace(/\n\s*/g, " ");
  if (typeof value !== "object" || value === null || indent.length + inline.length <= WIDTH) {
    return inline;
  }
  const deeper = `${indent}  `;
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(
    ([key, part]) => `${deeper}${isList ? "" : `${JSON.stringify(key)}: `}${compact(part, deeper)}`,
  );
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  return `${open}\n${parts.join(",\n")}\n${indent}${close}`;
}

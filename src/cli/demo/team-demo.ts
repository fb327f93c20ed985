/**
 * Runs `baton demo team`: plays the exercise of examples/coder-reviewer-tester on a separate store and prints
 * it from that store. The example is in examples/ in the sources and compiled next to the command line in
 * the package. It is loaded by path, because the library does not depend on it.
 */
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileOf } from "../../base/files/store-file.ts";
import type { Envelope } from "../../envelope/schema.ts";
import type { Hub } from "../../hub/hub.ts";
import { openStore, type StoreChoice } from "../store.ts";
import {
  bad,
  bold,
  dim,
  good,
  plural,
  printable,
  printJson,
  printLine,
  table,
} from "../terminal.ts";

/** The functions of the example that the command line calls. */
export interface Exercise {
  playTeam(hub: Hub, options: { readonly folder: string }): Promise<{ readonly task: string }>;
  storyOf(hub: Hub, task: string): Promise<readonly string[]>;
  endsOf(hub: Hub, task: string): Promise<readonly string[]>;
  messagesOf(hub: Hub, task: string): Promise<readonly Envelope[]>;
}

const FROM_SOURCE = import.meta.url.endsWith(".ts");
const PLACE = FROM_SOURCE
  ? "../../../examples/coder-reviewer-tester/exercise.ts"
  : "../../examples/coder-reviewer-tester/exercise.js";

const WORKSPACE = "team-demo";

/** Options of `baton demo team`. */
export interface TeamChoice extends StoreChoice {
  readonly json?: boolean | undefined;
}

/** Runs the exercise in a temporary folder and prints its story, or its messages as JSON. */
export async function runTeamDemo({ json, ...choice }: TeamChoice): Promise<void> {
  if (!json) printIntroduction();
  const exercise = (await import(new URL(PLACE, import.meta.url).href)) as Exercise;
  const folder = mkdtempSync(join(tmpdir(), "baton-team-"));
  const place = demoStoreOf(choice, folder);
  await using hub = await openStore(place);
  const project = join(folder, "project");
  mkdirSync(project);
  const { task } = await exercise.playTeam(hub, { folder: project });
  if (json) {
    printJson({ task, project, messages: await exercise.messagesOf(hub, task) });
    return;
  }
  printLine();
  for (const line of await exercise.storyOf(hub, task)) printLine(highlightLine(printable(line)));
  printLine();
  printLine(bold("Outcome of each task"));
  for (const line of await exercise.endsOf(hub, task)) printLine(`   ${printable(line)}`);
  await printOutcome(hub, project);
  printNextSteps(task, place);
}

/** Uses a separate workspace on an existing store, because the scripted agents claim any waiting handoff. */
function demoStoreOf({ store, workspace }: StoreChoice, folder: string): DemoStore {
  if (store === undefined) return { store: `sqlite:${join(folder, "hub.db")}`, workspace };
  return { store, workspace: workspace ?? WORKSPACE };
}

type DemoStore = StoreChoice & { readonly store: string };

function printIntroduction(): void {
  printLine(bold("A team builds an endpoint: handoffs, failures and the decisions about them."));
  printLine("The agents are scripted; the files, the tests, the lock and the failures are real.");
  printLine(
    dim(
      "role:coder is any agent with that role; baton is the hub, which notifies the coordinator.",
    ),
  );
}

/** Highlights failures and decisions. */
function highlightLine(line: string): string {
  if (line.includes(": FAILED, ")) return bad(line);
  return line.includes(" DECIDED ") ? bold(line) : line;
}

async function printOutcome(hub: Hub, project: string): Promise<void> {
  const { version, items } = await hub.context.text();
  const { memories, problems } = await hub.verify();
  const sound = problems.length === 0 ? good : bad;
  printLine();
  printLine(bold("Result"));
  const rows = [
    ["project", project],
    ["store", hub.store],
    ["shared context", `${plural(items.length, "item")} after ${plural(version, "change")}`],
    ["verified", `${plural(memories, "record")} checked: ${plural(problems.length, "problem")}`],
  ];
  for (const row of table(rows)) printLine(`   ${row.startsWith("verified") ? sound(row) : row}`);
}

/** Hides addresses that are not files, because they may contain a password. */
const displayedAddress = (store: string): string =>
  fileOf(store) === undefined ? "<the same address>" : store;

function printNextSteps(task: string, { store, workspace }: DemoStore): void {
  if (store === "memory:") return; // It ends with this process.
  const baton = FROM_SOURCE ? "npm run baton --" : "baton";
  const where = `--store ${displayedAddress(store)}${workspace === undefined ? "" : ` --workspace ${workspace}`}`;
  const next = [
    [`timeline ${task} --children`, "all steps, including parts"],
    [`task tree ${task}`, "the tasks and their outcomes"],
    ["context", "the shared context"],
    ["failure list", "the failures and their decisions"],
  ] as const;
  printLine();
  printLine(`${bold("Next steps")}${dim(`, each with ${where}`)}`);
  for (const row of table(next.map(([what, why]) => [`   ${baton} ${what}`, dim(why)])))
    printLine(row);
}

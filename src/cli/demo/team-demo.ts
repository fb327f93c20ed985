/**
 * `baton demo team`: plays the exercise that ships as an example, on a store of its own, and tells it from
 * that store. The example is the one people read (in examples/ among the sources, compiled beside the
 * command line in the package); it is loaded by its place, because nothing of the library depends on it.
 */
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileOf } from "../../base/store-file.ts";
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

/** What the command line needs of the example. */
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

export interface TeamChoice extends StoreChoice {
  readonly json?: boolean | undefined;
}

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
  printLine(bold("How each task ended"));
  for (const line of await exercise.endsOf(hub, task)) printLine(`   ${printable(line)}`);
  await printOutcome(hub, project);
  printNextSteps(task, place);
}

/** On a store that somebody uses, apart from their work: scripted agents take whatever waits for them. */
function demoStoreOf({ store, workspace }: StoreChoice, folder: string): DemoStore {
  if (store === undefined) return { store: `sqlite:${join(folder, "hub.db")}`, workspace };
  return { store, workspace: workspace ?? WORKSPACE };
}

type DemoStore = StoreChoice & { readonly store: string };

function printIntroduction(): void {
  printLine(
    bold("A team makes an endpoint: what each hands on, what fails, and who decides about it."),
  );
  printLine("The agents are scripted; the files, the tests, the lock and the failures are real.");
  printLine(
    dim("role:coder is whoever has that role; baton is the hub, which tells who has to decide."),
  );
}

/** What went wrong stands out, and what was decided about it. */
function highlightLine(line: string): string {
  if (line.includes(": FAILED, ")) return bad(line);
  return line.includes(" DECIDED ") ? bold(line) : line;
}

async function printOutcome(hub: Hub, project: string): Promise<void> {
  const { version, items } = await hub.context.text();
  const { memories, problems } = await hub.verify();
  const sound = problems.length === 0 ? good : bad;
  printLine();
  printLine(bold("What is left"));
  const rows = [
    ["the project", project],
    ["the store", hub.store],
    [
      "agreed on",
      `${plural(items.length, "item")} of shared context, after ${plural(version, "change")}`,
    ],
    ["verified", `${plural(memories, "record")} read again: ${plural(problems.length, "problem")}`],
  ];
  for (const row of table(rows)) printLine(`   ${row.startsWith("verified") ? sound(row) : row}`);
}

/** An address may hold a password: whoever named it knows it. */
const displayedAddress = (store: string): string =>
  fileOf(store) === undefined ? "<the same address>" : store;

function printNextSteps(task: string, { store, workspace }: DemoStore): void {
  if (store === "memory:") return; // Gone with this process.
  const baton = FROM_SOURCE ? "npm run baton --" : "baton";
  const where = `--store ${displayedAddress(store)}${workspace === undefined ? "" : ` --workspace ${workspace}`}`;
  const next = [
    [`timeline ${task} --children`, "all of it, step by step"],
    [`task tree ${task}`, "the tasks, and how each ended"],
    ["context", "what everybody can read, and who agreed on it"],
    ["failure list", "what failed, who decided, and why"],
  ] as const;
  printLine();
  printLine(`${bold("What to type next")}${dim(`, each with ${where}`)}`);
  for (const row of table(next.map(([what, why]) => [`   ${baton} ${what}`, dim(why)])))
    printLine(row);
}

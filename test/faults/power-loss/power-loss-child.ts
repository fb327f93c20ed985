/**
 * The program that is recorded: runs scenarios one after the other, each in a folder of its own.
 * `power-loss-child.ts <folder> <scenarios as JSON>`
 */
import { join } from "node:path";
import { ScenarioRun } from "./scenario-run.ts";
import type { Scenario } from "./scenarios.ts";

const [folder = "", scenarios = "[]"] = process.argv.slice(2);
for (const scenario of JSON.parse(scenarios) as Scenario[]) {
  await new ScenarioRun(join(folder, scenario.name), scenario).go();
}

/**
 * Runs the example and prints what happened; `--json` prints every message that was sent. The team
 * works in a temporary folder, or in the one given with `--folder <path>`.
 *
 * npm run example -- coder-reviewer-tester
 */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openHub } from "batonpass";
import { playTeam } from "./exercise.ts";
import { endsOf, messagesOf, storyOf } from "./story.ts";

const { values } = parseArgs({
  options: { folder: { type: "string" }, json: { type: "boolean" } },
  allowPositionals: true,
});

await using hub = await openHub(); // default: .baton/hub.db, or BATON_STORE
const folder = values.folder ?? (await mkdtemp(join(tmpdir(), "baton-team-")));
const { task } = await playTeam(hub, { folder });

if (values.json) console.log(JSON.stringify(await messagesOf(hub, task), null, 2));
else {
  for (const line of await storyOf(hub, task)) console.log(line);
  console.log("");
  for (const line of await endsOf(hub, task)) console.log(line);
  console.log(`\nFiles: ${folder}\nStore: ${hub.store}`);
}

import type { Hub } from "../../hub.ts";
import type { Quarantined, QuarantineWhat } from "../../memory/quarantine.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../command.ts";
import { OK } from "../exit.ts";
import { given } from "../given.ts";
import { mistake } from "../mistake.ts";
import { missingOption } from "../parse.ts";
import { openExisting } from "../store.ts";
import { bold, dim, localTime, oneLine, plural, say, sayJson } from "../terminal.ts";

const DEFAULT_LIMIT = 100;

export const quarantine = command({
  name: "quarantine",
  summary: "takes memories out of every look and tells whoever holds them; lists or lifts that",
  args: [{ name: "memory", help: "the memories' ids (mem_…)", optional: true, many: true }],
  options: {
    as: { type: "text", value: "<agent>", help: "who does it; must be registered" },
    reason: { type: "text", value: "<text>", help: "why" },
    downstream: { type: "flag", help: "with all that came of them: see baton impact" },
    "dry-run": { type: "flag", help: "only say what would be done" },
    "from-agent": { type: "text", value: "<agent>", help: "all that this agent wrote" },
    "from-session": { type: "text", value: "<session>", help: "all that this session wrote" },
    since: { type: "text", value: "<time>", help: "only what was stored since: 2026-01-31T12:00Z" },
    lift: { type: "flag", help: "puts the memories back in sight" },
    list: { type: "flag", help: "shows what is quarantined, by whom and why" },
    limit: { type: "number", value: "<n>", help: `how many to list; else ${DEFAULT_LIMIT}` },
    after: { type: "text", value: "<memory>", help: "only behind this one: the next page" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args, options }) {
    const { as, reason, list, lift, downstream, json, store, workspace } = options;
    if (list) return sayList(options);
    if (as === undefined) throw missingOption(quarantine, "as");
    if (reason === undefined) throw missingOption(quarantine, "reason");
    const what = whatOf(args, options);
    if (lift && !Array.isArray(what)) throw onlyIds();
    await using hub = await openExisting({ store, workspace });
    const agent = await hub.agent(as);
    const dryRun = options["dry-run"];
    const done = lift
      ? await agent.lift(args, reason)
      : await agent.quarantine(what, reason, given({ downstream, dryRun }));
    if (json) sayJson(done);
    else
      sayDone(done, lift ? "put back in sight" : dryRun ? "would be quarantined" : "quarantined");
    return OK;
  },
});

interface Which {
  readonly "from-agent"?: string | undefined;
  readonly "from-session"?: string | undefined;
  readonly since?: string | undefined;
}

function whatOf(ids: readonly string[], options: Which): QuarantineWhat {
  const { "from-agent": agent, "from-session": session, since } = options;
  const ways = [ids.length > 0, agent !== undefined, session !== undefined].filter(Boolean);
  if (ways.length !== 1) throw oneOfThree();
  if (ids.length > 0 && since !== undefined) throw onlyIds();
  const from = since === undefined ? {} : { since: timeOf(since) };
  if (agent !== undefined) return { agent, ...from };
  return session === undefined ? ids : { session, ...from };
}

function timeOf(text: string): number {
  const at = Date.parse(text);
  if (Number.isFinite(at) && at >= 0) return at;
  throw mistake("--since", `--since is "${text}", which is no time.`, "Write 2026-01-31T12:00Z.");
}

const oneOfThree = () =>
  mistake(
    "memory",
    "baton quarantine needs <memory>…, --from-agent or --from-session, one of them.",
    "Write baton quarantine mem_… --as <agent> --reason <text>.",
  );

const onlyIds = () =>
  mistake(
    "memory",
    "--lift takes the ids of memories, and --since goes with --from-agent or --from-session.",
    "See baton quarantine --list for the ids.",
  );

function sayDone({ memories, already, records, deliveries }: Quarantined, how: string): void {
  say(bold(`${plural(memories.length, "memory")} ${how}.`));
  for (const id of memories) say(`  ${id}`);
  if (already.length > 0)
    say(
      dim(
        `${plural(already.length, "memory")} ${already.length === 1 ? "was" : "were"} so before.`,
      ),
    );
  if (deliveries.length > 0) {
    say(`${plural(deliveries.length, "open delivery")} told:`);
    for (const id of deliveries) say(`  ${id}`);
  }
  for (const id of records) say(dim(`Recorded as ${id}`));
}

interface Listing {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
  readonly json?: boolean | undefined;
  readonly store?: string | undefined;
  readonly workspace?: string | undefined;
}

async function sayList(options: Listing): Promise<number> {
  const { limit = DEFAULT_LIMIT, after, json, ...choice } = options;
  await using hub: Hub = await openExisting(choice);
  const found = await hub.quarantined({ limit, ...given({ after }) });
  if (json) sayJson(found);
  else if (found.length === 0) say(dim("Nothing is quarantined."));
  else {
    for (const { memory, by, at, reason } of found) {
      say(`${bold(memory)}  ${localTime(at)}`);
      say(oneLine(`  by ${by}: ${reason}`));
    }
    if (found.length === limit) say(dim(`More: --after ${found.at(-1)?.memory}`));
  }
  return OK;
}

/** The command `baton quarantine`: quarantines memories, lifts and lists quarantines. */
import type { Hub } from "../../../hub/hub.ts";
import type { LiftTarget, QuarantineTarget } from "../../../memory/quarantine/quarantine.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { parseInstant } from "../../options/instant.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { missingOption } from "../../parse.ts";
import { printMore } from "../../render/next-page.ts";
import { printQuarantineResult } from "../../render/quarantine-result.ts";
import { printSent } from "../../render/sent.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, localTime, oneLine, printJson, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";
import { openForWork } from "../../work-by-handle.ts";

const DEFAULT_LIMIT = 100;

export const quarantine = command({
  name: "quarantine",
  summary: "Hide memories and notify agents that hold them; list or lift quarantines",
  args: [{ name: "memory", help: "memory ids (mem_…)", optional: true, many: true }],
  options: {
    as: { type: "text", value: "<agent>", help: "agent that acts or reads; must be registered" },
    reason: { type: "text", value: "<text>", help: "reason" },
    downstream: { type: "flag", help: "include everything that builds on them; see baton impact" },
    propose: {
      type: "flag",
      help: "send it to an agent that may quarantine records of others: baton context adopt",
    },
    "dry-run": { type: "flag", help: "show what would be changed" },
    "from-agent": { type: "text", value: "<agent>", help: "all memories written by this agent" },
    "from-session": {
      type: "text",
      value: "<session>",
      help: "all memories written in this session",
    },
    since: { type: "text", value: "<time>", help: "only memories stored since: 2026-01-31T12:00Z" },
    lift: { type: "flag", help: "lift the quarantine, so that the memories are visible again" },
    record: {
      type: "text",
      value: "<memory>",
      help: "with --lift: all memories of this quarantine record",
    },
    list: { type: "flag", help: "list quarantined memories with agent and reason" },
    limit: {
      type: "number",
      value: "<n>",
      help: `with --list: maximum number of results (default: ${DEFAULT_LIMIT})`,
    },
    after: { type: "text", value: "<memory>", help: "with --list: cursor of the next page" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args, options }) {
    const { as, reason, list, lift, downstream, json, store, workspace } = options;
    if (list) return printList(options);
    if (as === undefined) throw missingOption(quarantine, "as");
    if (reason === undefined) throw missingOption(quarantine, "reason");
    const what = targetOf(args, options);
    if (lift && downstream) throw liftHasNoDownstream();
    if (options.propose) return proposeQuarantine(what, { ...options, as, reason });
    await using hub = await openExisting({ store, workspace });
    const agent = await hub.agent(as);
    const dryRun = options["dry-run"];
    const done = lift
      ? await agent.memories.lift(what, reason, omitUndefined({ dryRun }))
      : await agent.memories.quarantine(
          what as QuarantineTarget,
          reason,
          omitUndefined({ downstream, dryRun }),
        );
    const how = lift ? "made visible again" : "quarantined";
    if (json) printJson(done);
    else printQuarantineResult(done, dryRun ? `would be ${how}` : how);
    return OK;
  },
});

interface ProposalOptions {
  readonly as: string;
  readonly reason: string;
  readonly lift?: boolean | undefined;
  readonly downstream?: boolean | undefined;
  readonly "dry-run"?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly store?: string | undefined;
  readonly workspace?: string | undefined;
}

async function proposeQuarantine(what: LiftTarget, options: ProposalOptions): Promise<number> {
  const { as, reason, lift, downstream, json, store, workspace } = options;
  if (lift || options["dry-run"]) throw proposesQuarantineOnly();
  await using hub = await openForWork({ store, workspace });
  const agent = await hub.agent(as, undefined, { lease: "session" });
  const quarantine = what as QuarantineTarget;
  const change = { quarantine, ...omitUndefined({ downstream }) };
  const { sent } = await agent.context.propose(change, { reason });
  await printSent(sent, json);
  return OK;
}

interface TargetOptions {
  readonly "from-agent"?: string | undefined;
  readonly "from-session"?: string | undefined;
  readonly since?: string | undefined;
  readonly lift?: boolean | undefined;
  readonly record?: string | undefined;
}

function targetOf(ids: readonly string[], options: TargetOptions): LiftTarget {
  const { "from-agent": agent, "from-session": session, since, lift = false, record } = options;
  if (record !== undefined && !lift) throw recordNeedsLift();
  const ways = [ids.length > 0, ...[agent, session, record].map((way) => way !== undefined)];
  if (ways.filter(Boolean).length !== 1) throw targetRequired(lift);
  if (since !== undefined && agent === undefined && session === undefined) throw sinceNeedsOwner();
  if (record !== undefined) return { record };
  const from = omitUndefined({ since: parseInstant("--since", since) });
  if (agent !== undefined) return { agent, ...from };
  return session === undefined ? ids : { session, ...from };
}

const targetRequired = (lift: boolean) =>
  usageError(
    "memory",
    `baton quarantine needs <memory>…, --from-agent or --from-session${lift ? ", or --record" : ""}; pass exactly one.`,
    `Write baton quarantine${lift ? " --lift" : ""} mem_… --as <agent> --reason <text>.`,
  );

const sinceNeedsOwner = () =>
  usageError(
    "--since",
    "--since requires --from-agent or --from-session.",
    "Add --from-agent <agent> or --from-session <session>, or omit --since.",
  );

const recordNeedsLift = () =>
  usageError(
    "--record",
    "--record requires --lift: it names the quarantine to lift.",
    "Write baton quarantine --lift --record mem_… --as <agent> --reason <text>.",
  );

const proposesQuarantineOnly = () =>
  usageError(
    "--propose",
    "--propose cannot be combined with --lift or --dry-run.",
    "Write baton quarantine --propose mem_… --as <agent> --reason <text>.",
  );

const liftHasNoDownstream = () =>
  usageError(
    "--downstream",
    "--lift and --downstream cannot be combined.",
    "Lift a whole quarantine, including what built on its memories: --lift --record mem_…",
  );

interface ListOptions {
  readonly as?: string | undefined;
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
  readonly json?: boolean | undefined;
  readonly store?: string | undefined;
  readonly workspace?: string | undefined;
}

async function printList(options: ListOptions): Promise<number> {
  const { as, limit = DEFAULT_LIMIT, after, json, ...choice } = options;
  await using hub: Hub = await openExisting(choice);
  const reader = as === undefined ? hub : await hub.agent(as);
  const found = await reader.memories.quarantined({ limit, ...omitUndefined({ after }) });
  if (json) printJson(found);
  else if (found.items.length === 0) printLine(dim("No quarantined memories."));
  else {
    for (const { memory, by, at, reason } of found.items) {
      printLine(`${bold(memory)}  ${localTime(at)}`);
      printLine(oneLine(`  by ${by}: ${reason}`));
    }
    printMore(found.next);
  }
  return OK;
}

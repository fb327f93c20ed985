/** The store: whether it opens, what is in it, how large it is, and what hooks could not do there. */
import { statSync } from "node:fs";
import { fileOf } from "../../base/store-file.ts";
import { type Trouble, troubles } from "../../harness/trouble.ts";
import type { Hub } from "../../hub/hub.ts";
import { addressOf, openExisting, type StoreChoice } from "../store.ts";
import { plural } from "../terminal.ts";
import { type Finding, failed, ok, warn } from "./finding.ts";

/** Beyond this somebody has been reading for very long, and keeps it from being folded in. */
const LONG_LOG = 256 * 1024 * 1024;

export interface Looked {
  readonly findings: readonly Finding[];
  /** Who is registered; undefined where there is no store. */
  readonly agents: ReadonlySet<string> | undefined;
}

export async function store(choice: StoreChoice): Promise<Looked> {
  const address = await addressOf(choice);
  const file = fileOf(address);
  const trouble = file === undefined ? [] : hookTroubles(troubles(file));
  try {
    await using hub = await openExisting(choice);
    const agents = await hub.agents.list();
    const names = new Set(agents.flatMap(({ id, aliases }) => [id, ...aliases]));
    const held = ok("store", `${hub.store}, ${await contentsOf(hub, agents.length)}`);
    return {
      findings: [held, ...(file === undefined ? [] : [sizeOf(file)]), ...trouble],
      agents: names,
    };
  } catch (error) {
    const finding = failed("store", error);
    const isNone = finding.status === "fail" && finding.code === "store_missing";
    const told = isNone ? warn("store", finding.found, NO_STORE) : finding;
    return { findings: [told, ...trouble], agents: undefined };
  }
}

const NO_STORE =
  "Make one: baton setup claude-code, baton agent add <agent> --role <role>, or baton demo";

async function contentsOf(hub: Hub, agents: number): Promise<string> {
  const { envelopes, deliveries, byState } = await hub.deliveries.totals();
  const { ready, dead } = byState;
  return `workspace ${hub.workspace}: ${plural(agents, "agent")}, ${plural(envelopes, "envelope")}, ${plural(deliveries, "delivery")} (${ready} ready, ${dead} dead)`;
}

function sizeOf(file: string): Finding {
  const [size, log] = [file, `${file}-wal`].map(
    (each) => statSync(each, { throwIfNoEntry: false })?.size ?? 0,
  ) as [number, number];
  const found = `${megabytes(size)} and ${megabytes(log)} of log`;
  return log <= LONG_LOG
    ? ok("size", found)
    : warn("size", found, "End whoever reads for long: the log is folded in when nobody does.");
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

function hookTroubles(all: readonly Trouble[]): Finding[] {
  const last = all.at(-1);
  if (last === undefined) return [];
  const { harness, event, at, message } = last;
  return [
    warn(
      "hook troubles",
      `${all.length}; last ${at}, ${harness} ${event}: ${message}`,
      "Run that hook by hand with --strict; delete hook-trouble.jsonl beside the store when it is mended.",
    ),
  ];
}

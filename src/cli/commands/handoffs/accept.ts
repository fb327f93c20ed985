/** The command `baton accept`: claims and accepts a handoff, and prints its primer. */
import { attemptLine } from "../../../context/view/attempt-text.ts";
import type { Receipt } from "../../../delivery/receive/receipt.ts";
import type { Envelope } from "../../../envelope/schema.ts";
import type { Agent } from "../../../hub/agent.ts";
import type { Hub } from "../../../hub/hub.ts";
import {
  AS_OPTION,
  command,
  JSON_OPTION,
  type OptionValues,
  STORE_OPTIONS,
} from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printField } from "../../render/envelope.ts";
import { printReservationConflicts } from "../../render/reservation-conflicts.ts";
import { printWarnings } from "../../render/warnings.ts";
import { bold, dim, localTime, printable, printJson, printLine } from "../../terminal.ts";
import { LEASE_OPTION, openForWork } from "../../work-by-handle.ts";

const RECEIPT_OPTIONS = {
  "receipt-goal": { type: "text", value: "<text>", help: "receipt: the goal in your own words" },
  "receipt-first-step": { type: "text", value: "<text>", help: "receipt: the first step" },
  "receipt-constraint": { type: "texts", value: "<id>", help: "receipt: id of a must" },
} as const;

export const accept = command({
  name: "accept",
  summary: "Accept the oldest waiting handoff, or the given one, and print its handle",
  args: [{ name: "delivery", help: "delivery id (dlv_…); default: the oldest", optional: true }],
  options: {
    ...AS_OPTION,
    task: { type: "text", value: "<task>", help: "only handoffs of this task" },
    wait: { type: "duration", value: "<time>", help: "time to wait for a handoff: 30s, 5m" },
    ...RECEIPT_OPTIONS,
    ...LEASE_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [delivery], options }) {
    const { as, task, wait, json, lease, store, workspace } = options;
    const hold = { store, workspace, lease };
    await using hub = await openForWork(hold);
    const agent = await hub.agent(as, undefined, { lease: "session" });
    await hub.deliveries.runDue(); // Short-lived process: apply timeouts that are due before claiming.
    const work = await agent.accept({
      ...omitUndefined({ delivery, task, receipt: receiptOf(options) }),
      ...(wait === undefined ? {} : { wait: true, signal: AbortSignal.timeout(wait) }),
    });
    if (work === undefined) {
      if (delivery !== undefined) await throwNotAcceptable(hub, agent, delivery);
      if (json) printJson(null);
      else printLine(dim(nothingWaitingText(agent)));
      return OK;
    }
    const { delivery: row, envelope } = await hub.deliveries.get(work.id);
    const { handle } = work;
    const { attempt, leaseUntil } = work.delivery;
    const redelivered = attempt > 1;
    const warnings = await work.warnings();
    const { primer, attempts, progress } = work;
    const { conflicts } = work.reservations;
    const musts = await teamMusts(agent);
    if (json) {
      const shown = { delivery: row, envelope, warnings, conflicts, musts, primer };
      printJson({ handle, attempt, redelivered, attempts, progress, ...shown });
    } else {
      printLine(bold(handle));
      printField("lease", [`until ${localTime(leaseUntil)}; every command renews it`]);
      printField("attempt", redelivered ? [`${attempt} of ${row.maxAttempts}`] : []);
      printField("before", attempts.map(attemptLine));
      printLine();
      printLine(printable(primer.trimEnd()));
      printLine();
      printField(
        "team musts",
        musts.map(({ key, rule }) => `${key}: ${rule}`),
      );
      printWarnings(warnings);
      printReservationConflicts(conflicts);
      printLine(
        dim(`With its references: baton view ${handle}; all fields: baton handoff show ${row.id}`),
      );
      printLine(dim(`Continue with ${stepsFor(handle, agent.id, envelope)}`));
    }
    return OK;
  },
});

/** No limit, because a person reads the output. */
const NO_TOKEN_LIMIT = Number.MAX_SAFE_INTEGER;

/** Returns the musts of the shared context for this agent, which handoffs do not repeat. */
async function teamMusts({ context }: Agent): Promise<readonly { key: string; rule: string }[]> {
  const { items } = await context.text({ sections: ["constraints"], tokens: NO_TOKEN_LIMIT });
  return items.flatMap((item) =>
    item.section === "constraints" && item.level === "must"
      ? [{ key: item.key, rule: item.rule }]
      : [],
  );
}

/** Returns the next commands: decide a failure, adopt a proposal, or work on anything else. */
function stepsFor(handle: string, agent: string, { failure, payload }: Envelope): string {
  if (failure !== undefined) {
    return `baton failure decide ${failure.delivery} retry|reroute|ask|abort --as ${agent} --reason <text>`;
  }
  const work = `note, complete, fail, decline, release or clarify ${handle}`;
  if (payload?.type !== "context-change") return `baton ${work}`;
  return `baton context adopt ${handle}, or decline it: baton decline ${handle} <reason>`;
}

function receiptOf(options: OptionValues<typeof RECEIPT_OPTIONS>): Receipt | undefined {
  const goal = options["receipt-goal"];
  const firstStep = options["receipt-first-step"];
  const constraints = options["receipt-constraint"];
  if (goal === undefined && firstStep === undefined && constraints === undefined) return undefined;
  // The library reports missing fields when it checks the receipt.
  return omitUndefined({ goal, firstStep, constraints: constraints?.slice() }) as Receipt;
}

async function throwNotAcceptable(hub: Hub, agent: Agent, id: string): Promise<never> {
  const { notAcceptable } = await import("../../../delivery/receive/not-acceptable.ts");
  const { delivery } = await hub.deliveries.get(id);
  throw notAcceptable({ agent: agent.id, role: agent.info.role }, delivery);
}

const nothingWaitingText = ({ id, info }: Agent): string =>
  info.status === "paused"
    ? `${id} is paused and receives no work: baton agent resume ${id}`
    : `No handoff for ${id} is ready.`;

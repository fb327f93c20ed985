/** The commands `baton reservations`, `reserve` and `unreserve`. */
import type { Reservation } from "../../../coordination/reservations/reservation.ts";
import type { Hub } from "../../../hub/hub.ts";
import type { Work } from "../../../hub/work.ts";
import {
  AFTER_OPTION,
  type ArgumentSpec,
  command,
  JSON_OPTION,
  STORE_OPTIONS,
} from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printMore } from "../../render/next-page.ts";
import { printReservationConflicts } from "../../render/reservation-conflicts.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, localTime, oneLine, printJson, printLine } from "../../terminal.ts";
import { holderAt, openForWork, WORK_OPTIONS } from "../../work-by-handle.ts";

const WORK: ArgumentSpec = {
  name: "work",
  help: "handle printed by baton accept (dlv_…#n), or the delivery id",
};

export const reservations = command({
  name: "reservations",
  summary: "List current reservations of files and resources",
  args: [],
  options: {
    touching: {
      type: "texts",
      value: "<glob>",
      help: "only reservations that overlap with this glob",
    },
    agent: { type: "text", value: "<agent>", help: "only of this agent" },
    task: { type: "text", value: "<task>", help: "only for this task" },
    limit: { type: "number", value: "<n>", help: "maximum number of results" },
    ...AFTER_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options: { touching, agent, task, limit, after, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const by = agent === undefined ? undefined : (await hub.agent(agent)).id;
    const query = omitUndefined({ touching: touching?.slice(), agent: by, task, limit, after });
    const page = await hub.tasks.reservations(query);
    if (json) printJson(page);
    else if (page.items.length === 0) printLine(dim("No matching reservations."));
    else page.items.forEach(printReservation);
    if (!json) printMore(page.next);
    return OK;
  },
});

export const reserve = command({
  name: "reserve",
  summary: "Reserve files and resources for accepted work, and show conflicts",
  args: [
    WORK,
    {
      name: "glob",
      help: "src/auth/**, db:users, … (default: what the handoff touches)",
      optional: true,
      many: true,
    },
  ],
  options: {
    shared: { type: "flag", help: "allow other shared reservations" },
    note: { type: "text", value: "<text>", help: "purpose" },
    ...WORK_OPTIONS,
  },

  async run({ args: [id = "", ...globs], options: { shared, note, json, as, ...choice } }) {
    await using hub = await openForWork(choice);
    const work = await heldAt(hub, id, as);
    const mode = shared ? ("shared" as const) : undefined;
    const result = await work.reservations.set(
      globs.length === 0 ? undefined : globs,
      omitUndefined({ mode, note }),
    );
    if (json) printJson(result);
    else {
      printReservation(result.reserved);
      printReservationConflicts(result.conflicts);
    }
    return OK;
  },
});

export const unreserve = command({
  name: "unreserve",
  summary: "Release the reservations of accepted work before it ends",
  args: [WORK],
  options: WORK_OPTIONS,

  async run({ args: [id = ""], options: { json, as, ...choice } }) {
    await using hub = await openForWork(choice);
    const work = await heldAt(hub, id, as);
    await work.reservations.clear();
    if (json) printJson({ delivery: work.id, reserved: null });
    else printLine(`${work.id}  ${bold("no reservations")}`);
    return OK;
  },
});

/** Returns the work by its handle, or by its delivery id with the current fence. */
async function heldAt(hub: Hub, id: string, as: string | undefined): Promise<Work> {
  const handle = id.includes("#") ? id : `${id}#${(await hub.deliveries.get(id)).delivery.fence}`;
  return (await holderAt(hub, handle, as)).resume(handle);
}

function printReservation({ agent, task, globs, mode, note, since, until, delivery }: Reservation) {
  const shared = mode === "shared" ? ", shared" : "";
  printLine(`${bold(oneLine(globs.join(", ")))}${shared}`);
  const why = note === undefined ? "" : `: ${note}`;
  printLine(`  ${oneLine(`${agent} for "${task}"${why}`, 2)}`);
  printLine(dim(`  since ${localTime(since)}, until ${localTime(until)}  ${delivery}`));
}

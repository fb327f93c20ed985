/** The commands of `baton route`: list, set and delete routes. */
import { nearestNames } from "../../../base/nearest-names.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { openExisting, openStore } from "../../store.ts";
import { bold, dim, printJson, printLine, table } from "../../terminal.ts";
import { didYouMean, usageError } from "../../usage-error.ts";

const ROUTE = { name: "name", help: "route name" } as const;

const list = command({
  name: "route list",
  summary: "List routes, which choose the receiver when the sender names none",
  args: [],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ options }) {
    await using hub = await openExisting(options);
    const routes = await hub.routes.list();
    if (options.json) printJson(routes);
    else if (routes.length === 0) printLine(dim(`No routes in workspace "${hub.workspace}" yet.`));
    else {
      const rows = routes.map(({ name, to, when }) => [name, `→ ${to}`, conditionsOf(when)]);
      for (const row of table(rows)) printLine(row);
    }
    return OK;
  },
});

function conditionsOf(when: object): string {
  const words = Object.entries(when).map(([field, value]) => `${field} ${value}`);
  return words.length === 0 ? "always" : `when ${words.join(" and ")}`;
}

const set = command({
  name: "route set",
  summary: "Create or change a route; the matching route with most conditions applies",
  args: [ROUTE],
  options: {
    to: {
      type: "text",
      value: "<receiver>",
      help: "receiver: an agent or role:<role>",
      required: true,
    },
    action: { type: "text", value: "<word>", help: "only for this action" },
    from: { type: "text", value: "<agent>", help: "only from this agent" },
    payload: { type: "text", value: "<type>", help: "only with a payload of this type" },
    result: { type: "text", value: "<word>", help: "only for work completed with this outcome" },
    task: { type: "text", value: "<task>", help: "only of this task" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options: { to, json, store, workspace, ...when } }) {
    await using hub = await openStore({ store, workspace });
    const route = { to, when: omitUndefined(when) };
    await hub.routes.set(name, route);
    if (json) printJson({ name, ...route });
    else printLine(`${bold(name)}  → ${to}, ${conditionsOf(route.when)}`);
    return OK;
  },
});

const drop = command({
  name: "route drop",
  summary: "Delete a route",
  args: [ROUTE],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [name = ""], options }) {
    await using hub = await openExisting(options);
    const known = (await hub.routes.list()).map((route) => route.name);
    if (!known.includes(name)) {
      throw usageError(
        "name",
        `Unknown route "${name}".`,
        didYouMean(nearestNames(name, known)) ?? "List the routes: baton route list.",
      );
    }
    await hub.routes.delete(name);
    if (options.json) printJson({ name });
    else printLine(`Deleted the route ${bold(name)}`);
    return OK;
  },
});

export const route = [list, set, drop];

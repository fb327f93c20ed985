import { nearestNames } from "../../../base/nearest-names.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { openExisting, openStore } from "../../store.ts";
import { bold, dim, printJson, printLine, table } from "../../terminal.ts";
import { didYouMean, usageError } from "../../usage-error.ts";

const ROUTE = { name: "name", help: "the route's name" } as const;

const list = command({
  name: "route list",
  summary: "who comes next when a sender names nobody",
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
  summary: "makes a route, or changes it; of those that fit, the one with most conditions counts",
  args: [ROUTE],
  options: {
    to: { type: "text", value: "<receiver>", help: "an agent or role:<role>", required: true },
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
  summary: "takes a route away",
  args: [ROUTE],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [name = ""], options }) {
    await using hub = await openExisting(options);
    const known = (await hub.routes.list()).map((route) => route.name);
    if (!known.includes(name)) {
      throw usageError(
        "name",
        `There is no route "${name}".`,
        didYouMean(nearestNames(name, known)) ?? "See baton route list.",
      );
    }
    await hub.routes.delete(name);
    if (options.json) printJson({ name });
    else printLine(`${bold(name)} is no more`);
    return OK;
  },
});

export const route = [list, set, drop];

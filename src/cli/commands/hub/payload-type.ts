/** The commands of `baton payload-type`: list, show, add and remove payload types. */
import { nearestNames } from "../../../base/nearest-names.ts";
import type {
  PayloadTypeInfo,
  PayloadTypeVersion,
} from "../../../delivery/settings/payload-types.ts";
import type { JsonSchema } from "../../../envelope/json-schema.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { openExisting, openStore } from "../../store.ts";
import { bold, dim, localTime, printJson, printLine, table } from "../../terminal.ts";
import { didYouMean, usageError } from "../../usage-error.ts";

const NAME = { name: "name", help: "name of the payload type" } as const;
const AS = {
  as: { type: "text", value: "<agent>", help: "agent recorded as its author" },
} as const;

const list = command({
  name: "payload-type list",
  summary: "List the registered payload types",
  args: [],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ options }) {
    await using hub = await openExisting(options);
    const types = await hub.payloadTypes.list();
    if (options.json) printJson(types);
    else if (types.length === 0)
      printLine(dim(`No payload types in workspace "${hub.workspace}".`));
    else for (const row of table(types.map((each) => [each.name, ...about(each)]))) printLine(row);
    return OK;
  },
});

const about = ({ version, at, by }: PayloadTypeVersion): string[] => [
  `version ${version}`,
  `${localTime(at)}${by === undefined ? "" : ` by ${by}`}`,
];

const show = command({
  name: "payload-type show",
  summary: "Show the JSON Schema of a payload type",
  args: [NAME],
  options: {
    version: { type: "number", value: "<n>", help: "version to show (default: the newest)" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options: { version, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const versions = await hub.payloadTypes.versions(name);
    const found =
      version === undefined ? versions.at(-1) : versions.find((each) => each.version === version);
    if (found === undefined) {
      const known = versions.map((each) => each.version).join(", ");
      throw usageError(
        "--version",
        `"${name}" has no version ${version}.`,
        `Use one of: ${known}.`,
      );
    }
    const types = await hub.payloadTypes.list();
    const isEnforced = types.some((each) => each.name === name && each.version === found.version);
    if (json) printJson({ name, ...found, enforced: isEnforced });
    else printVersion({ name, ...found }, isEnforced);
    return OK;
  },
});

function printVersion(info: PayloadTypeInfo, isEnforced: boolean): void {
  const state = isEnforced ? [] : ["not enforced"];
  printLine(`${bold(info.name)}  ${dim([...about(info), ...state].join(", "))}`);
  printLine(JSON.stringify(info.schema, null, 2));
}

const add = command({
  name: "payload-type add",
  summary: "Register a payload type; a changed schema becomes a new version",
  args: [NAME],
  options: {
    schema: {
      type: "json",
      value: "<json>",
      help: "JSON Schema (draft 2020-12), or @<file>",
      required: true,
    },
    ...AS,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options: { schema, as, json, ...choice } }) {
    await using hub = await openStore(choice);
    const info = await hub.payloadTypes.set(name, schema as JsonSchema, { by: as });
    if (json) printJson(info);
    else printLine(`${bold(name)}  version ${info?.version}`);
    return OK;
  },
});

const remove = command({
  name: "payload-type remove",
  summary: "Stop enforcing a payload type; its versions are kept",
  args: [NAME],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [name = ""], options }) {
    await using hub = await openExisting(options);
    const known = (await hub.payloadTypes.list()).map((each) => each.name);
    if (!known.includes(name)) {
      throw usageError(
        "name",
        `No payload type "${name}" is registered.`,
        didYouMean(nearestNames(name, known)) ?? "List the known types: baton payload-type list.",
      );
    }
    await hub.payloadTypes.delete(name);
    if (options.json) printJson({ name });
    else printLine(`${bold(name)}  removed`);
    return OK;
  },
});

export const payloadType = [list, show, add, remove];

/** The commands of `baton token`: add, list and revoke access tokens. */
import { ACCESS_LEVELS, type Access } from "../../../access/levels.ts";
import type { TokenInfo } from "../../../access/tokens.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { parseDuration } from "../../options/duration.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { openExisting, openStore } from "../../store.ts";
import { bold, dim, localTime, oneLine, printJson, printLine, table } from "../../terminal.ts";

const ANY_AGENT = "*";

const add = command({
  name: "token add",
  summary: "Create an access token (printed once)",
  args: [
    {
      name: "agent",
      help: `agent of the token; "${ANY_AGENT}": a program that runs several agents`,
    },
  ],
  options: {
    access: {
      type: "text",
      value: `<${ACCESS_LEVELS.join("|")}>`,
      choices: ACCESS_LEVELS,
      help: "access level; each includes the previous one",
      required: true,
    },
    expires: {
      type: "text",
      value: "<time>",
      help: "validity, such as 30d, or never (default: 90d)",
    },
    label: { type: "text", value: "<text>", help: "purpose" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [agent = ""], options: { access, expires, label, json, ...choice } }) {
    // The agent of a token must be registered; the first token for any agent may create the store.
    await using hub = await (agent === ANY_AGENT ? openStore(choice) : openExisting(choice));
    const { token, info } = await hub.tokens.add({
      agent,
      access: access as Access,
      ...omitUndefined({ expiresInMs: validityOf(expires), label }),
    });
    if (json) printJson({ token, workspace: hub.workspace, ...info });
    else {
      printLine(token);
      printLine();
      printToken(info);
      printLine(
        dim(
          `The token cannot be shown again: only its digest is stored. Set it as BATON_TOKEN where ${agentLabel(info)} runs.`,
        ),
      );
    }
    return OK;
  },
});

const list = command({
  name: "token list",
  summary: "List tokens with agent, access level, expiry and last use",
  args: [],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ options }) {
    await using hub = await openExisting(options);
    const tokens = await hub.tokens.list();
    if (options.json) printJson(tokens);
    else if (tokens.length === 0) printLine(dim(`No tokens in workspace "${hub.workspace}".`));
    else for (const row of table(tokens.map(listedColumns))) printLine(row);
    return OK;
  },
});

const revoke = command({
  name: "token revoke",
  summary: "Revoke a token (takes effect within 2 s)",
  args: [{ name: "token", help: "token id (tok_…), as printed by baton token list" }],
  options: {
    reason: { type: "text", value: "<text>", help: "reason" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [id = ""], options: { reason, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const info = await hub.tokens.revoke(id, reason);
    if (json) printJson(info);
    else printToken(info);
    return OK;
  },
});

const agentLabel = ({ agent }: TokenInfo): string => (agent === ANY_AGENT ? "the program" : agent);

const printToken = (info: TokenInfo): void => {
  const [id = "", ...rest] = columnsOf(info);
  printLine([bold(id), ...rest].filter((each) => each !== "").join("  "));
};

const columnsOf = (info: TokenInfo): string[] => [
  info.id,
  info.agent === ANY_AGENT ? "any agent" : info.agent,
  info.access,
  expiryText(info),
  oneLine(info.label ?? ""),
];

const listedColumns = (info: TokenInfo): string[] => {
  const { lastUsedAt } = info;
  const [id = "", agent = "", access = "", expiry = "", label = ""] = columnsOf(info);
  const use = lastUsedAt === undefined ? "not used" : `used ${localTime(lastUsedAt)}`;
  return [id, agent, access, expiry, use, label];
};

/** Returns the validity in milliseconds; null if the token never expires. */
function validityOf(expires: string | undefined): number | null | undefined {
  if (expires === undefined) return undefined;
  return expires === "never" ? null : parseDuration("--expires", expires);
}

function expiryText({ state, expiresAt, revokedAt, reason }: TokenInfo): string {
  if (state === "revoked") {
    const why = reason === undefined ? "" : `: ${oneLine(reason)}`;
    return `revoked ${localTime(revokedAt ?? 0)}${why}`;
  }
  if (expiresAt === undefined) return "does not expire";
  return `${state === "expired" ? "expired" : "until"} ${localTime(expiresAt)}`;
}

export const token = [add, list, revoke];

/** The commands of `baton agent`: add, pause and resume agents. */
import type { Hub } from "../../../hub/hub.ts";
import type { KeyRotation } from "../../../memory/agent-keys.ts";
import type { AgentInfo } from "../../../memory/agents.ts";
import type { AgentKey } from "../../../store/verify/key-history.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { parseInstant } from "../../options/instant.ts";
import { readPrivateKey, readPublicKey } from "../../options/key-file.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { openExisting, openStore } from "../../store.ts";
import { bold, localTime, printJson, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

const AGENT = { name: "agent", help: "name or alias of the agent" } as const;

const add = command({
  name: "agent add",
  summary: "Register an agent or a person, or update its profile",
  args: [AGENT],
  options: {
    role: { type: "text", value: "<role>", help: "role, which receives handoffs to role:<role>" },
    alias: { type: "texts", value: "<name>", help: "additional name" },
    person: { type: "flag", help: "register a person instead of a program" },
    description: { type: "text", value: "<text>", help: "what it does" },
    model: {
      type: "text",
      value: "<model>",
      help: "model, such as gpt-4o; determines how tokens are counted",
    },
    window: {
      type: "number",
      value: "<tokens>",
      help: "size of its context window, which limits its views",
    },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options }) {
    const { role, alias, person, description, model, window, json, ...choice } = options;
    await using hub = await openStore(choice);
    const kind = person ? ("person" as const) : undefined;
    const profile = omitUndefined({
      role,
      aliases: alias?.slice(),
      kind,
      description,
      model,
      window,
    });
    printAgent((await hub.agent(name, profile)).info, json);
    return OK;
  },
});

const statusCommand = (
  verb: string,
  summary: string,
  change: (hub: Hub, agent: string) => Promise<void>,
) =>
  command({
    name: `agent ${verb}`,
    summary,
    args: [AGENT],
    options: { ...STORE_OPTIONS, ...JSON_OPTION },

    async run({ args: [name = ""], options }) {
      await using hub = await openExisting(options);
      await change(hub, name);
      printAgent((await hub.agent(name)).info, options.json);
      return OK;
    },
  });

const pause = statusCommand(
  "pause",
  "Stop delivering work to an agent; its inbox is kept",
  (hub, agent) => hub.agents.pause(agent),
);
const resume = statusCommand("resume", "Resume delivering work to a paused agent", (hub, agent) =>
  hub.agents.unpause(agent),
);

const keys = command({
  name: "agent keys",
  summary: "List the signing keys that an agent has or had",
  args: [AGENT],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [name = ""], options }) {
    await using hub = await openExisting(options);
    printKeys(await hub.agents.keys(name), options.json);
    return OK;
  },
});

const rotateKey = command({
  name: "agent rotate-key",
  summary: "Replace an agent's signing key; what earlier keys signed stays valid",
  args: [AGENT],
  options: {
    key: {
      type: "text",
      value: "<keyfile>",
      help: "current private key (PEM), which authorizes it; without it, an admin does",
    },
    "new-key": {
      type: "text",
      value: "<keyfile>",
      help: "new private key (PEM); required with --key",
    },
    "public-key": { type: "text", value: "<key>", help: "new public key (hex or file)" },
    reason: { type: "text", value: "<text>", help: "why it is replaced" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options }) {
    const { json, reason, ...choice } = options;
    await using hub = await openExisting(choice);
    const { id } = await hub.agents.get(name);
    const rotation = await rotationOf({ workspace: hub.workspace, agent: id }, options);
    printKeys(await hub.agents.rotateKey(id, { ...rotation, ...omitUndefined({ reason }) }), json);
    return OK;
  },
});

interface RotationOptions {
  readonly key?: string | undefined;
  readonly "new-key"?: string | undefined;
  readonly "public-key"?: string | undefined;
}

/** Returns the new public key, signed if the current private key is given. Private keys are not sent. */
async function rotationOf(
  whose: { readonly workspace: string; readonly agent: string },
  options: RotationOptions,
): Promise<Pick<KeyRotation, "publicKey" | "signature">> {
  const key = await readPrivateKey("--key", options.key);
  const newKey = await readPrivateKey("--new-key", options["new-key"]);
  const { signRotation } = await import("../../../memory/agent-keys.ts");
  if (key !== undefined && newKey !== undefined) return signRotation({ ...whose, key, newKey });
  const named = options["public-key"] ?? options["new-key"];
  if (key !== undefined || named === undefined)
    throw usageError(
      "--new-key",
      "The new key is missing.",
      "Create one: openssl genpkey -algorithm ed25519 -out new.pem, then pass --new-key new.pem.",
    );
  return { publicKey: await readPublicKey("--public-key", named) };
}

const revokeKey = command({
  name: "agent revoke-key",
  summary: "Revoke an agent's signing key: verify reports what it signed from then on",
  args: [AGENT],
  options: {
    since: {
      type: "text",
      value: "<time>",
      help: "when it was compromised, such as 2026-11-18T09:00Z (default: now)",
    },
    "public-key": {
      type: "text",
      value: "<key>",
      help: "key to revoke (hex or file; default: the current one, which disables the agent)",
    },
    reason: { type: "text", value: "<text>", help: "why it is revoked" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options }) {
    const { since, "public-key": named, reason, json, ...choice } = options;
    const at = parseInstant("--since", since);
    const publicKey = named === undefined ? undefined : await readPublicKey("--public-key", named);
    await using hub = await openExisting(choice);
    const revocation = omitUndefined({ publicKey, reason, since: at });
    printKeys(await hub.agents.revokeKey(name, revocation), json);
    return OK;
  },
});

function printKeys(list: readonly AgentKey[], json: boolean | undefined): void {
  if (json) printJson(list);
  else printKeyLines(list);
}

function printKeyLines(list: readonly AgentKey[]): void {
  if (list.length === 0) printLine("No keys: the agent does not sign.");
  for (const { publicKey, since, until, authorizedBy, revoked } of list) {
    const span = `${localTime(since)} – ${until === undefined ? "now" : localTime(until)}`;
    const end =
      revoked === undefined ? "" : `  revoked, compromised since ${localTime(revoked.since)}`;
    printLine(`${publicKey}  ${span}  ${AUTHORIZED[authorizedBy]}${end}`);
  }
}

const AUTHORIZED = {
  registration: "set at registration",
  "previous-key": "authorized by the previous key",
  admin: "set by an administrator",
} as const;

function printAgent(info: AgentInfo, json: boolean | undefined): void {
  if (json) printJson(info);
  else printLine(`${bold(info.id)}  ${info.role ?? "-"}  ${info.status}`);
}

export const agent = [add, pause, resume, keys, rotateKey, revokeKey];

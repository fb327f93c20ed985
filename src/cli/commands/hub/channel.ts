/** The commands of `baton channel`: manage channels and subscriptions, and publish handoffs. */
import type { ChannelInfo, ChannelState } from "../../../delivery/settings/channels.ts";
import type { Draft } from "../../../envelope/schema.ts";
import { AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { withFiles } from "../../options/artifacts.ts";
import { DRAFT_OPTIONS, draftOf } from "../../options/draft.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printSent } from "../../render/sent.ts";
import { openExisting, openStore } from "../../store.ts";
import { bold, dim, plural, printJson, printLine, table } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

const CHANNEL = { name: "channel", help: "channel name" } as const;

const list = command({
  name: "channel list",
  summary: "List channels with their state and subscribers",
  args: [],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ options }) {
    await using hub = await openExisting(options);
    const known = await Promise.all(
      (await hub.channels.list()).map(async (each) => ({
        ...each,
        subscribers: await hub.channels.subscribers(each.name),
      })),
    );
    if (options.json) printJson(known);
    else if (known.length === 0) printLine(dim(`No channels in workspace "${hub.workspace}" yet.`));
    else {
      const rows = known.map((each) => [each.name, each.state, each.subscribers.join(", ")]);
      for (const row of table(rows)) printLine(row);
    }
    return OK;
  },
});

const printState = ({ name, state }: ChannelInfo): void => printLine(`${bold(name)}  ${state}`);

const open = command({
  name: "channel open",
  summary: "Create a channel, or reopen a paused or closed one",
  args: [CHANNEL],
  options: { ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [name = ""], options }) {
    await using hub = await openStore(options);
    const channel = await hub.channels.set(name, "open");
    if (options.json) printJson(channel);
    else printState(channel);
    return OK;
  },
});

/** Pausing or closing does not create a channel: an unknown name is a typo and throws. */
const stateCommand = (verb: string, state: ChannelState, summary: string) =>
  command({
    name: `channel ${verb}`,
    summary,
    args: [CHANNEL],
    options: { ...STORE_OPTIONS, ...JSON_OPTION },

    async run({ args: [name = ""], options }) {
      await using hub = await openExisting(options);
      await hub.channels.subscribers(name);
      const channel = await hub.channels.set(name, state);
      if (options.json) printJson(channel);
      else printState(channel);
      return OK;
    },
  });

const pause = stateCommand(
  "pause",
  "paused",
  "Pause a channel: publishing fails until it is opened again",
);
const close = stateCommand("close", "closed", "Close a channel: publishing fails");

const subscribe = command({
  name: "channel subscribe",
  summary: "Subscribe an agent to a channel, optionally with earlier handoffs",
  args: [CHANNEL],
  options: {
    ...AS_OPTION,
    from: {
      type: "text",
      value: "<start|now|seq>",
      help: "first handoff to receive (default: now)",
    },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = ""], options: { as, from, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const agent = await hub.agent(as);
    const { replayed } = await agent.channels.subscribe(
      name,
      omitUndefined({ from: fromOf(from) }),
    );
    if (json) printJson({ channel: name, agent: agent.id, replayed });
    else
      printLine(
        `${agent.id} is subscribed to ${bold(name)}${replayed > 0 ? `, ${plural(replayed, "earlier handoff")} delivered` : ""}`,
      );
    return OK;
  },
});

function fromOf(text: string | undefined): "start" | "now" | number | undefined {
  if (text === undefined || text === "start" || text === "now") return text;
  if (/^\d+$/.test(text)) return Number(text);
  throw usageError(
    "--from",
    `Invalid --from "${text}".`,
    "Use start, now, or the sequence number of a memory.",
  );
}

const unsubscribe = command({
  name: "channel unsubscribe",
  summary: "Unsubscribe an agent from a channel",
  args: [CHANNEL],
  options: { ...AS_OPTION, ...STORE_OPTIONS, ...JSON_OPTION },

  async run({ args: [name = ""], options: { as, json, ...choice } }) {
    await using hub = await openExisting(choice);
    await hub.channels.subscribers(name); // Throws for an unknown channel.
    const agent = await hub.agent(as);
    await agent.channels.unsubscribe(name);
    if (json) printJson({ channel: name, agent: agent.id });
    else printLine(`${agent.id} is no longer subscribed to ${bold(name)}`);
    return OK;
  },
});

const publish = command({
  name: "channel publish",
  summary: "Hand a task to every subscriber of a channel",
  args: [CHANNEL, { name: "intent", help: "what the task is meant to achieve, in quotes" }],
  options: {
    ...AS_OPTION,
    receiver: {
      type: "texts",
      value: "<agent>",
      help: "receiver to use instead of the subscribers",
    },
    ...DRAFT_OPTIONS,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [name = "", intent = ""], options }) {
    const { as, receiver, json, store, workspace } = options;
    const said = draftOf(options);
    await using hub = await openExisting({ store, workspace });
    const draft = { ...(await withFiles(hub, said, options.file)), intent } as Draft;
    const agent = await hub.agent(as);
    const receivers = receiver === undefined ? {} : { receivers: receiver };
    await printSent(await agent.channels.publish(name, draft, receivers), json);
    return OK;
  },
});

export const channel = [list, open, pause, close, subscribe, unsubscribe, publish];

/**
 * The command `baton view`: shows the views that receivers of a handoff got (the context composed for each),
 * or composes one for the agent that holds the work.
 */
import type { ShownView } from "../../../delivery/work/views.ts";
import type { ViewStrategy } from "../../../envelope/schema.ts";
import type { Hub } from "../../../hub/hub.ts";
import { command, JSON_OPTION, type OptionValues, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { STRATEGIES } from "../../options/draft.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printView } from "../../render/view.ts";
import {
  bad,
  bold,
  dim,
  localTime,
  plural,
  printable,
  printJson,
  printLine,
} from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";
import { LEASE_OPTION, openForWork, SEEN_OPTION, workAt } from "../../work-by-handle.ts";

const COMPOSE_OPTIONS = {
  tokens: { type: "number", value: "<n>", help: "with a handle: token budget" },
  strategy: {
    type: "text",
    value: "<strategy>",
    help: `with a handle: strategy (${STRATEGIES.join(", ")})`,
    choices: STRATEGIES,
  },
  recent: {
    type: "number",
    value: "<n>",
    help: "with a handle: number of recent memories to consider",
  },
  anew: { type: "flag", help: "with a handle: compose the view again from current memories" },
} as const;

const OPTIONS = {
  as: { type: "text", value: "<agent>", help: "agent that acts (default: the holder of the work)" },
  ...COMPOSE_OPTIONS,
  text: { type: "flag", help: "print only the text, ready to paste" },
  ...SEEN_OPTION,
  ...LEASE_OPTION,
  ...STORE_OPTIONS,
  ...JSON_OPTION,
} as const;

type Options = OptionValues<typeof OPTIONS>;

export const view = command({
  name: "view",
  summary: "Show the stored views of a handoff, or compose one for its holder (by handle)",
  args: [
    { name: "delivery", help: "delivery id (dlv_…), or the handle of accepted work (dlv_…#n)" },
  ],
  options: OPTIONS,

  async run({ args: [id = ""], options }) {
    const { store, workspace, lease, json, text } = options;
    await using hub = await openForWork({ store, workspace, lease });
    const views = id.includes("#")
      ? [await composeView(hub, id, options)]
      : await listStoredViews(hub, id, options);
    const last = views.at(-1);
    if (json) printJson(views);
    else if (last === undefined) printLine(dim(noViewsText(id)));
    else if (text) process.stdout.write(printable(last.text));
    else {
      for (const earlier of views.slice(0, -1)) printLine(dim(headOf(earlier)));
      await printStoredView(hub, last);
    }
    return OK;
  },
});

async function composeView(hub: Hub, handle: string, options: Options): Promise<ShownView> {
  const { as, seen, tokens, strategy, recent, anew } = options;
  const work = await workAt(hub, handle, { as, seen });
  const asked = { tokens, recent, strategy: strategy as ViewStrategy | undefined };
  return work.view({ ...omitUndefined(asked), ...(anew ? { anew } : {}) });
}

async function listStoredViews(
  hub: Hub,
  id: string,
  options: Options,
): Promise<readonly ShownView[]> {
  const name = (Object.keys(COMPOSE_OPTIONS) as (keyof typeof COMPOSE_OPTIONS)[]).find(
    (each) => options[each] !== undefined,
  );
  if (name === undefined) return hub.deliveries.views(id);
  throw usageError(
    `--${name}`,
    `--${name} requires the handle of accepted work; ${id} is a delivery id.`,
    `Write baton view ${id}#<n>, the handle printed by baton accept, or omit --${name} to show stored views.`,
  );
}

const noViewsText = (id: string): string =>
  `No view of ${id} was composed yet. Its holder composes one: baton view ${id}#<n>`;

const headOf = ({ receiver, at, tokens, omitted }: ShownView): string =>
  `${receiver}, ${localTime(at)}: ${tokens} tokens, ${plural(omitted.length, "record")} left out`;

async function printStoredView(hub: Hub, shown: ShownView): Promise<void> {
  printLine(bold(headOf(shown)));
  printLine(printable(shown.text.trimEnd()));
  if (!shown.matches)
    printLine(bad("Some records of this view were removed later; the remaining ones are shown."));
  printLine();
  await printView(hub, shown);
}

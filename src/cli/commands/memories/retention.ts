/**
 * The command `baton retention`: show or set how long traces and events are kept; setting replaces all
 * rules.
 */
import type { RetentionRules } from "../../../memory/traces/retention.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, printJson, printLine } from "../../terminal.ts";

export const retention = command({
  name: "retention",
  summary: "Show or set how long traces and events are kept; setting replaces all rules",
  args: [],
  options: {
    "trace-days": {
      type: "number",
      value: "<n>",
      help: "maximum age of traces in days, by their last step",
    },
    "trace-sessions": {
      type: "number",
      value: "<n>",
      help: "maximum number of sessions with traces",
    },
    "event-days": { type: "number", value: "<n>", help: "maximum age of events in days" },
    "event-keep": { type: "number", value: "<n>", help: "maximum number of events" },
    forever: { type: "flag", help: "delete all rules" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options }) {
    const traces = definedFieldsOf({
      days: options["trace-days"],
      sessions: options["trace-sessions"],
    });
    const events = definedFieldsOf({ days: options["event-days"], keep: options["event-keep"] });
    const given: RetentionRules = { ...(traces && { traces }), ...(events && { events }) };
    const sets = options.forever === true || traces !== undefined || events !== undefined;
    await using hub = await openExisting(options);
    const rules = (await hub.settings.update({ retention: sets ? given : undefined })).retention;
    if (options.json) printJson(rules);
    else printRules(rules);
    return OK;
  },
});

/** Returns the fields that are set; undefined if there are none. */
function definedFieldsOf<T extends object>(
  given: T,
): { [Key in keyof T]: NonNullable<T[Key]> } | undefined {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return entries.length === 0
    ? undefined
    : (Object.fromEntries(entries) as { [Key in keyof T]: NonNullable<T[Key]> });
}

function printRules({ traces = {}, events = {} }: RetentionRules): void {
  printLine(`${bold("traces")}  ${retentionText(traces.days, traces.sessions, "sessions")}`);
  printLine(`${bold("events")}  ${retentionText(events.days, events.keep, "events")}`);
  printLine(dim("Applied by baton prune."));
}

function retentionText(days: number | undefined, most: number | undefined, what: string): string {
  const rules = [
    ...(days === undefined ? [] : [`${days} days`]),
    ...(most === undefined ? [] : [`at most ${most} ${what}`]),
  ];
  return rules.length === 0 ? "kept forever" : `kept: ${rules.join(", ")}`;
}

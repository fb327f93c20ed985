/** The command `baton handoff rules`: show or set the actions and payload types that handoffs may have. */
import type { HandoffRulesInput } from "../../../delivery/settings/handoff-rules.ts";
import { UNREGISTERED_MODES, type UnregisteredMode } from "../../../delivery/settings/registry.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printField } from "../../render/envelope.ts";
import { openExisting, openStore } from "../../store.ts";
import { printJson } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

export const handoffRules = command({
  name: "handoff rules",
  summary: "Show or set the actions and payload types that handoffs may have",
  args: [],
  options: {
    action: { type: "texts", value: "<word>", help: "allow this action; replaces the list" },
    "any-action": { type: "flag", help: "allow any action" },
    unregistered: {
      type: "text",
      value: "<rule>",
      help: "accept or refuse payload types that are not registered",
      choices: UNREGISTERED_MODES,
    },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options: { action, "any-action": any, unregistered, json, ...choice } }) {
    if (action !== undefined && any) {
      throw usageError("--any-action", "--action and --any-action conflict.", "Pass one of them.");
    }
    const actions = any ? [] : action;
    const changes: HandoffRulesInput = {
      ...(actions && { actions: [...actions] }),
      ...(unregistered && { unregistered: unregistered as UnregisteredMode }),
    };
    const isChange = Object.keys(changes).length > 0;
    await using hub = isChange ? await openStore(choice) : await openExisting(choice);
    const rules = (await hub.settings.update({ handoffs: isChange ? changes : undefined }))
      .handoffs;
    if (json) {
      printJson(rules);
      return OK;
    }
    printField("actions", [rules.actions.length === 0 ? "any" : rules.actions.join(", ")]);
    printField("unregistered", [rules.unregistered]);
    return OK;
  },
});

/** The command `baton secrets`: shows detected secrets and the policy for them. */
import type { SecretsReport } from "../../../memory/redaction/secrets-report.ts";
import { SECRET_MODES, type SecretMode } from "../../../workspace/workspace.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { openExisting } from "../../store.ts";
import {
  bold,
  dim,
  localTime,
  oneLine,
  plural,
  printJson,
  printLine,
  table,
} from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

export const secrets = command({
  name: "secrets",
  summary: "Show detected secrets and show or set the policy for them",
  args: [],
  options: {
    policy: {
      type: "text",
      value: "<rule>",
      help: "new policy of the workspace: redact, refuse or allow",
      choices: SECRET_MODES,
    },
    "allow-text": {
      type: "text",
      value: "<text>",
      help: "declare a redacted text harmless; needs --as and --reason",
    },
    reason: { type: "text", value: "<text>", help: "why it is harmless" },
    as: { type: "text", value: "<agent>", help: "agent that declares it" },
    limit: {
      type: "number",
      value: "<n>",
      help: "number of newest findings to show (default: 100)",
    },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options }) {
    const { "allow-text": text, reason, as } = options;
    await using hub = await openExisting(options);
    if (text !== undefined) {
      if (as === undefined || reason === undefined) {
        throw usageError(
          as === undefined ? "as" : "reason",
          "--allow-text needs the agent that declares the text harmless, and why.",
          "Add --as <agent> and --reason <text>.",
        );
      }
      await (await hub.agent(as)).memories.allowText(text, reason);
    }
    const policy = (
      await hub.settings.update({ secrets: options.policy as SecretMode | undefined })
    ).secrets;
    const report = await hub.memories.secretsFound(omitUndefined({ limit: options.limit }));
    if (options.json) printJson({ policy, ...report });
    else printReport(policy, report);
    return OK;
  },
});

const POLICY_TEXTS: Readonly<Record<SecretMode, string>> = {
  allow: "are stored unchanged",
  redact: "are replaced with their kind before they are stored",
  refuse: "are refused: the whole call stores nothing",
};

function printReport(policy: SecretMode, { total, byKind, found }: SecretsReport): void {
  printLine(`${bold(policy)}  ${dim(`keys, passwords and tokens ${POLICY_TEXTS[policy]}`)}`);
  if (total === 0) {
    printLine("No secrets were found.");
    return;
  }
  const rows = found.map(({ kind, path, in: { kind: what, id }, at, by }) => [
    at === undefined ? "" : localTime(at),
    by ?? "",
    kind,
    oneLine(`${what} ${id}${path === undefined ? "" : ` ${path}`}`),
  ]);
  for (const row of table(rows)) printLine(row);
  const kinds = Object.entries(byKind).map(([kind, count]) => `${kind} ${count}`);
  printLine(dim(`${plural(total, "place")}: ${kinds.join(", ")}`));
}

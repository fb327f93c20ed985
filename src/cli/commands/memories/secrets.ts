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

export const secrets = command({
  name: "secrets",
  summary: "shows where secrets were redacted, and what is done about them, or sets it",
  args: [],
  options: {
    policy: {
      type: "text",
      value: "<rule>",
      help: "redact, refuse or allow, in this workspace from now on",
      choices: SECRET_MODES,
    },
    limit: { type: "number", value: "<n>", help: "so many of the newest; 100 unless said" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options }) {
    await using hub = await openExisting(options);
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
  allow: "are stored as they are",
  redact: "are replaced by what they are before anything is stored",
  refuse: "are refused: nothing of the call is stored",
};

function printReport(policy: SecretMode, { total, byKind, found }: SecretsReport): void {
  printLine(`${bold(policy)}  ${dim(`keys, passwords and tokens ${POLICY_TEXTS[policy]}`)}`);
  if (total === 0) {
    printLine("None was found.");
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

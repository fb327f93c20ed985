/** The command `baton doctor`: runs all checks and prints them with their fixes. */
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { readConfigHomes } from "../../config-homes.ts";
import type { CheckResult } from "../../doctor/check-result.ts";
import { OK } from "../../exit.ts";
import { bad, bold, dim, good, printable, printJson, printLine, styled } from "../../terminal.ts";

export const doctor = command({
  name: "doctor",
  summary: "Check the installation and suggest fixes",
  args: [],
  options: {
    port: { type: "number", value: "<n>", help: "port of the hub (default: 4747)" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options: { port, json, ...choice } }) {
    const { DEFAULT_PORT } = await import("../../../http/listen.ts");
    const findings = await runChecks(choice, port ?? DEFAULT_PORT);
    const failed = findings.find((finding) => finding.status === "fail");
    if (json) printJson({ healthy: failed === undefined, findings });
    else for (const finding of findings) printCheckResult(finding);
    if (failed === undefined) return OK;
    const { ERROR_CODES } = await import("../../../base/errors.ts");
    return ERROR_CODES[failed.code].exit;
  },
});

async function runChecks(
  choice: { readonly store?: string | undefined; readonly workspace?: string | undefined },
  port: number,
): Promise<CheckResult[]> {
  const runtime = await import("../../doctor/runtime.ts");
  const { checkStore: store } = await import("../../doctor/store.ts");
  const { checkClients: clients } = await import("../../doctor/clients.ts");
  const { settingsPathsFor: placesFor } = await import("../../../harness/setup/settings-paths.ts");
  const { findings, agents } = await store(choice);
  return [
    runtime.checkNode(),
    runtime.checkSqlite(),
    ...findings,
    await runtime.checkPort(port),
    ...clients(placesFor(process.cwd(), readConfigHomes()), agents),
    await runtime.checkHookStart(),
  ];
}

const MARKS = { ok: good("ok  "), warn: styled("yellow", "warn"), fail: bad("fail") } as const;

function printCheckResult(finding: CheckResult): void {
  printLine(`${MARKS[finding.status]}  ${bold(finding.check)}  ${printable(finding.found)}`);
  if (finding.status !== "ok") printLine(dim(`      ${printable(finding.fix)}`));
}

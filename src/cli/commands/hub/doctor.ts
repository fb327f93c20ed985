import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import type { Finding } from "../../doctor/finding.ts";
import { OK } from "../../exit.ts";
import { homes } from "../../homes.ts";
import { bad, bold, dim, good, printable, say, sayJson, styled } from "../../terminal.ts";

export const doctor = command({
  name: "doctor",
  summary: "looks whether everything works here, and says how to mend what does not",
  args: [],
  options: {
    port: { type: "number", value: "<n>", help: "where the hub listens; else 4747" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options: { port, json, ...choice } }) {
    const { DEFAULT_PORT } = await import("../../../http/listen.ts");
    const findings = await examine(choice, port ?? DEFAULT_PORT);
    const failed = findings.find((finding) => finding.status === "fail");
    if (json) sayJson({ healthy: failed === undefined, findings });
    else for (const finding of findings) sayFinding(finding);
    if (failed === undefined) return OK;
    const { ERROR_CODES } = await import("../../../base/errors.ts");
    return ERROR_CODES[failed.code].exit;
  },
});

async function examine(
  choice: { readonly store?: string | undefined; readonly workspace?: string | undefined },
  port: number,
): Promise<Finding[]> {
  const runtime = await import("../../doctor/runtime.ts");
  const { store } = await import("../../doctor/store.ts");
  const { clients } = await import("../../doctor/clients.ts");
  const { placesFor } = await import("../../../harness/setup/places.ts");
  const { findings, agents } = await store(choice);
  return [
    runtime.node(),
    runtime.sqlite(),
    ...findings,
    await runtime.port(port),
    ...clients(placesFor(process.cwd(), homes()), agents),
    await runtime.hookStart(),
  ];
}

const MARKS = { ok: good("ok  "), warn: styled("yellow", "warn"), fail: bad("fail") } as const;

function sayFinding(finding: Finding): void {
  say(`${MARKS[finding.status]}  ${bold(finding.check)}  ${printable(finding.found)}`);
  if (finding.status !== "ok") say(dim(`      ${printable(finding.mend)}`));
}

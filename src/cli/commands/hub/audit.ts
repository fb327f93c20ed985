/** The commands of `baton audit`: list and export the audit records. */
import { Readable } from "node:stream";
import { AUDIT_KINDS, type AuditKind } from "../../../memory/audit/audit-record.ts";
import type { AuditEntry } from "../../../memory/audit/read-audit.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { parseInstant } from "../../options/instant.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printText, writeTextFile } from "../../output.ts";
import { printMore } from "../../render/next-page.ts";
import { openExisting } from "../../store.ts";
import { dim, good, localTime, oneLine, printJson, printLine, table } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

const list = command({
  name: "audit",
  summary: "List changes of agents, tokens and settings, denied calls and admin reads",
  args: [],
  options: {
    kind: {
      type: "text",
      value: `<${AUDIT_KINDS.join("|")}>`,
      choices: AUDIT_KINDS,
      help: "only changes, denied calls or reads of administrators",
    },
    action: { type: "text", value: "<operation>", help: "only of this operation: tokens.add" },
    agent: { type: "text", value: "<name>", help: "only by this agent, or about it" },
    since: { type: "text", value: "<time>", help: "only from this time on: 2026-01-31T12:00Z" },
    until: { type: "text", value: "<time>", help: "only before this time" },
    limit: { type: "number", value: "<n>", help: "records per page (default: 100)" },
    after: { type: "number", value: "<n>", help: "next page: the number printed by the last one" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options: { kind, action, agent, since, until, limit, after, json, ...choice } }) {
    const query = omitUndefined({
      kind: kind as AuditKind | undefined,
      ...{ action, agent, limit, after },
      since: parseInstant("--since", since),
      until: parseInstant("--until", until),
    });
    await using hub = await openExisting(choice);
    const page = await hub.events.audit(query);
    if (json) printJson(page);
    else if (page.items.length === 0) printLine(dim("No matching audit records."));
    else for (const row of table(page.items.map(columnsOf))) printLine(row);
    if (!json) printMore(page.next);
    return OK;
  },
});

const exportAudit = command({
  name: "audit export",
  summary: "Export the audit records with their hash links as JSON lines",
  args: [{ name: "file", help: "output file (default: stdout)", optional: true }],
  options: {
    after: { type: "number", value: "<n>", help: "only records after this number" },
    force: { type: "flag", help: "overwrite an existing file" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [file], options: { after, force = false, json, ...choice } }) {
    if (json && file === undefined) throw jsonWithoutFile();
    await using hub = await openExisting(choice);
    const text = Readable.from(hub.events.exportAudit(omitUndefined({ after })));
    if (file === undefined) await printText(text);
    else {
      await writeTextFile(file, { text, force });
      if (json) printJson({ file, workspace: hub.workspace });
      else printLine(good(`Written to ${file}.`));
    }
    return OK;
  },
});

const jsonWithoutFile = () =>
  usageError(
    "--json",
    "--json prints a report and requires an output file, because stdout contains the export.",
    "Add a file: baton audit export <file> --json.",
  );

function columnsOf({ at, kind, action, actor, target, code, count }: AuditEntry): string[] {
  const { via, agent, token, address, access } = actor;
  const who = [agent, token, access, address].filter((each) => each !== undefined);
  return [
    localTime(at),
    kind,
    oneLine(action),
    target === undefined ? "" : oneLine(`${target.kind} ${target.name}`),
    [code, count === undefined ? undefined : `${count} calls`].filter(Boolean).join(", "),
    oneLine(`${via}${who.length === 0 ? "" : `: ${who.join(", ")}`}`),
  ];
}

export const audit = [list, exportAudit];

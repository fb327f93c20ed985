/** The command `baton repair`: rebuild what can be derived in a damaged SQLite store. */
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK, VERIFY_FAILED } from "../../exit.ts";
import { addressOf } from "../../store.ts";
import { bad, good, plural, printable, printJson, printLine } from "../../terminal.ts";

export const repair = command({
  name: "repair",
  summary: "Rebuild what can be derived in a damaged SQLite store, and report the rest",
  args: [],
  options: {
    "dry-run": { type: "flag", help: "report what would be rebuilt, and change nothing" },
    store: STORE_OPTIONS.store,
    ...JSON_OPTION,
  },

  async run({ options: { "dry-run": dryRun = false, json, ...choice } }) {
    const address = await addressOf(choice);
    const { repair: repairStore } = await import("../../../open/repair-store.ts");
    const { kept, ...report } = await repairStore(address, { dryRun });
    const { rebuilt, problems } = report;
    const code = problems.length === 0 ? OK : VERIFY_FAILED;
    if (json) {
      printJson({ store: address, ...report, ...(kept === "" ? {} : { kept }) });
      return code;
    }
    for (const what of rebuilt)
      printLine(good(`${dryRun ? "Can be rebuilt" : "Rebuilt"}: ${what}`));
    if (kept !== "") printLine(`The damaged store was kept as ${kept}`);
    if (problems.length === 0) printLine(good("No problems are left."));
    else {
      printLine(bad(`${plural(problems.length, "problem")} left: these rows cannot be derived.`));
      for (const { record, field, message } of problems)
        printLine(printable(`  ${record}  ${field}: ${message}`));
      printLine("Restore a backup (baton restore), or export what can be read (baton export).");
    }
    return code;
  },
});

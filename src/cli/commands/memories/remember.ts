/** The command `baton remember`: store a memory and show similar ones. */
import { AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { MEMORY_OPTIONS, memoryInputOf } from "../../options/memory-options.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printRedactedSecrets } from "../../render/redacted-secrets.ts";
import { printSimilarMemories } from "../../render/similar-memories.ts";
import { openExisting } from "../../store.ts";
import { dim, printJson, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

export const remember = command({
  name: "remember",
  summary: "Store a memory and show similar ones",
  args: [{ name: "text", help: "content of the memory, in quotes" }],
  options: {
    ...AS_OPTION,
    task: { type: "text", value: "<task>", help: "task it is about" },
    type: { type: "text", value: "<type>", help: "decision, finding, lesson, … (default: fact)" },
    ...MEMORY_OPTIONS,
    branch: { type: "text", value: "<name>", help: "branch to write on (default: main)" },
    strict: { type: "flag", help: "store nothing if it is already known" },
    force: { type: "flag", help: "store it without checking for similar memories" },
    "dry-run": { type: "flag", help: "store nothing and show similar memories" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [content = ""], options }) {
    const { as, branch, strict, force, json, store, workspace, task, type } = options;
    const dryRun = options["dry-run"];
    if (force && (strict || dryRun)) {
      const other = strict ? "--strict" : "--dry-run";
      throw usageError("--force", `${other} and --force cannot be combined.`, "Pass one of them.");
    }
    const input = { ...memoryInputOf(content, options), ...omitUndefined({ task, type }) };
    await using hub = await openExisting({ store, workspace });
    const author = await hub.agent(as);
    const writer = branch === undefined ? author : await author.branches.use(branch);
    if (dryRun) {
      const known = await writer.memories.similar(input);
      if (json) printJson(known);
      else if (known.length === 0) printLine("No similar memories.");
      else printSimilarMemories(known);
      return OK;
    }
    const memory = await writer.remember(input, {
      known: force ? "ignore" : strict ? "refuse" : "report",
    });
    if (json) printJson(memory);
    else {
      printLine(`${memory.id}${dim(`  ${memory.type} ${memory.seq} of ${memory.branch}`)}`);
      printRedactedSecrets(memory.secrets);
      printSimilarMemories(memory.known ?? [], memory.id);
    }
    return OK;
  },
});

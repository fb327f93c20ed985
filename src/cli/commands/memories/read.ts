/** The command `baton read`: prints a memory or a part of an envelope. */
import type { ReadMemory } from "../../../delivery/work/read-record.ts";
import type { DetailLevel } from "../../../envelope/schema.ts";
import { isShortId } from "../../../text/short-ids.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { LEVELS } from "../../options/draft-forms.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { momentOf, READER_OPTIONS, readerOf } from "../../reader.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, localTime, printable, printJson, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

export const read = command({
  name: "read",
  summary: "Read a memory or a part of an envelope by its id",
  args: [{ name: "memory", help: "id: mem_…, env_… or env_…#part; with --of also a short id" }],
  options: {
    as: READER_OPTIONS.as,
    "as-of": READER_OPTIONS["as-of"],
    level: {
      type: "text",
      value: "<level>",
      help: `level of detail: ${LEVELS.join(", ")} (default: full)`,
      choices: LEVELS,
    },
    of: {
      type: "text",
      value: "<delivery>",
      help: "delivery of the view that contains the short id",
    },
    freshest: { type: "flag", help: "read the memory that superseded it, if there is one" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [id = ""], options }) {
    const { as, "as-of": asOf, level, freshest, of, json, ...choice } = options;
    if (isShortId(id) && of === undefined) throw viewRequired(id);
    await using hub = await openExisting(choice);
    const reader = await readerOf(hub, as, undefined);
    const memory = await reader.memories.read(
      id,
      omitUndefined({
        asOf: momentOf(asOf),
        level: level as DetailLevel | undefined,
        freshest,
        of,
      }),
    );
    if (json) printJson(memory);
    else printMemory(memory);
    return OK;
  },
});

const viewRequired = (id: string) =>
  usageError(
    "--of",
    `${id} is a short id, which is valid only in one view.`,
    `Add the delivery of the view: baton read ${id} --of dlv_…`,
  );

const TEXT_SOURCES: Readonly<Record<Exclude<ReadMemory["textBy"], "record" | undefined>, string>> =
  {
    sender: "summary by the sender",
    summary: "stored summary",
    model: "summary by a model",
    extract: "extract of its sentences",
  };

function printMemory(memory: ReadMemory): void {
  const { type, agent, task, storedAt, branch, seq, scope, redacted, insteadOf, textBy } = memory;
  const about = task === undefined ? "" : ` on ${task}`;
  const place = `, ${localTime(storedAt)}, ${seq} of ${branch}`;
  const open = scope === undefined || scope === "team" ? "" : `, visible to the ${scope} only`;
  printLine(`${bold(type)}  ${agent}${about}${dim(`${place}${open}`)}`);
  if (insteadOf !== undefined) printLine(dim(`${memory.id} supersedes ${insteadOf}`));
  const text = memory.text ?? memory.content;
  printLine(printable(redacted ? `(redacted by ${redacted.by}: ${redacted.reason})` : text));
  if (textBy !== undefined && textBy !== "record") {
    const whole = memory.value === undefined ? `; full text: baton read ${memory.id}` : "";
    printLine(dim(`${TEXT_SOURCES[textBy]}${whole}`));
  }
  for (const { kind, to } of memory.relations ?? []) printLine(dim(`${kind} ${to}`));
}

import type { ReadMemory } from "../../../delivery/work/read-record.ts";
import type { Level } from "../../../envelope/schema.ts";
import { isShortId } from "../../../text/short-ids.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { mistake } from "../../mistake.ts";
import { LEVELS } from "../../options/draft-forms.ts";
import { given } from "../../options/given.ts";
import { momentOf, READER_OPTIONS, readerOf } from "../../reader.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, localTime, printable, say, sayJson } from "../../terminal.ts";

export const read = command({
  name: "read",
  summary: "read a memory or a part of an envelope by its id",
  args: [{ name: "memory", help: "mem_…, env_… or env_…#part; with --of also a short id" }],
  options: {
    as: READER_OPTIONS.as,
    "as-of": READER_OPTIONS["as-of"],
    level: {
      type: "text",
      value: "<level>",
      help: `how much of it: ${LEVELS.join(", ")}; else all`,
      choices: LEVELS,
    },
    of: { type: "text", value: "<delivery>", help: "the delivery in whose view it has a short id" },
    freshest: { type: "flag", help: "what holds in its place, where it was superseded" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [id = ""], options }) {
    const { as, "as-of": asOf, level, freshest, of, json, ...choice } = options;
    if (isShortId(id) && of === undefined) throw whichView(id);
    await using hub = await openExisting(choice);
    const reader = await readerOf(hub, as, undefined);
    const memory = await reader.memories.read(
      id,
      given({ asOf: momentOf(asOf), level: level as Level | undefined, freshest, of }),
    );
    if (json) sayJson(memory);
    else sayMemory(memory);
    return OK;
  },
});

const whichView = (id: string) =>
  mistake("--of", `${id} is a short id, of one view.`, `Say of which: baton read ${id} --of dlv_…`);

const WORDS_OF: Readonly<Record<Exclude<ReadMemory["textBy"], "record" | undefined>, string>> = {
  sender: "in its sender's words",
  summary: "as a stored summary says it",
  model: "in a model's words",
  extract: "in its own sentences",
};

function sayMemory(memory: ReadMemory): void {
  const { type, agent, task, storedAt, branch, seq, scope, redacted, insteadOf, textBy } = memory;
  const about = task === undefined ? "" : ` on ${task}`;
  const place = `, ${localTime(storedAt)}, ${seq} of ${branch}`;
  const open = scope === undefined || scope === "team" ? "" : `, for the ${scope} only`;
  say(`${bold(type)}  ${agent}${about}${dim(`${place}${open}`)}`);
  if (insteadOf !== undefined) say(dim(`${memory.id} holds instead of ${insteadOf}`));
  const text = memory.text ?? memory.content;
  say(printable(redacted ? `(redacted by ${redacted.by}: ${redacted.reason})` : text));
  if (textBy !== undefined && textBy !== "record") {
    const whole = memory.value === undefined ? `; all of it: baton read ${memory.id}` : "";
    say(dim(`${WORDS_OF[textBy]}${whole}`));
  }
  for (const { kind, to } of memory.relations ?? []) say(dim(`${kind} ${to}`));
}

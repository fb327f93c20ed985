/** The command `baton relations`: list the relations of a memory to others, oldest first. */
import type { Relation, RelationsQuery } from "../../../memory/read.ts";
import type { RelationKind } from "../../../memory/record.ts";
import { AFTER_OPTION, AS_OPTION, command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { requireChoice } from "../../options/choice.ts";
import { parseInstant } from "../../options/instant.ts";
import { RELATION_KINDS } from "../../options/memory-options.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { momentOf, READER_OPTIONS } from "../../reader.ts";
import { printMore } from "../../render/next-page.ts";
import { openExisting } from "../../store.ts";
import { bold, dim, localTime, printJson, printLine } from "../../terminal.ts";

const DIRECTIONS = ["in", "out"] as const;

export const relations = command({
  name: "relations",
  summary: "List the relations of a memory to others, oldest first",
  args: [{ name: "memory", help: "memory id (mem_…)" }],
  options: {
    ...AS_OPTION,
    branch: READER_OPTIONS.branch,
    "as-of": READER_OPTIONS["as-of"],
    direction: {
      type: "text",
      value: "<direction>",
      help: "out: relations of the memory; in: relations to it (default: out)",
      choices: DIRECTIONS,
    },
    kind: {
      type: "texts",
      value: "<kind>",
      help: `only of this kind: ${RELATION_KINDS.join(", ")}`,
    },
    at: {
      type: "text",
      value: "<time>",
      help: "only relations valid at this time: 2026-01-31T12:00Z",
    },
    limit: { type: "number", value: "<n>", help: "maximum number of results (default: 100)" },
    ...AFTER_OPTION,
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [id = ""], options }) {
    const { as, branch, direction, limit, after, json, store, workspace } = options;
    const query = omitUndefined({
      asOf: momentOf(options["as-of"]),
      at: parseInstant("--at", options.at),
      direction: direction as RelationsQuery["direction"],
      kinds: options.kind?.map(kindOf),
      limit,
      after,
    });
    await using hub = await openExisting({ store, workspace });
    const agent = await hub.agent(as);
    const reader = branch === undefined ? agent : await agent.branches.use(branch);
    const page = await reader.memories.relations(id, query);
    if (json) printJson(page);
    else {
      printRelations(page.items);
      printMore(page.next);
    }
    return OK;
  },
});

function kindOf(kind: string): RelationKind {
  const message = `Invalid --kind "${kind}": unknown kind of relation.`;
  requireChoice(kind, RELATION_KINDS, { message, path: "--kind" });
  return kind as RelationKind;
}

function printRelations(relations: readonly Relation[]): void {
  if (relations.length === 0) printLine(dim("No relations."));
  for (const { kind, source, target, validFrom, validUntil } of relations) {
    const since = validFrom === undefined ? "" : ` from ${localTime(validFrom)}`;
    const until = validUntil === undefined ? "" : ` until ${localTime(validUntil)}`;
    printLine(`${source}  ${bold(kind)}  ${target}${dim(`${since}${until}`)}`);
  }
}

/** The command `baton impact`: prints what builds on a memory as a tree. */
import type {
  Impact,
  ImpactDelivery,
  ImpactMemory,
} from "../../../memory/quarantine/blast-radius.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { omitUndefined } from "../../options/omit-undefined.ts";
import { printField } from "../../render/envelope.ts";
import { openExisting } from "../../store.ts";
import { bad, bold, dim, good, oneLine, plural, printJson, printLine } from "../../terminal.ts";

export const impact = command({
  name: "impact",
  summary: "Show what builds on a memory: records, handoffs and agents that saw it",
  args: [{ name: "memory", help: "memory id (mem_…)" }],
  options: {
    as: {
      type: "text",
      value: "<agent>",
      help: "agent to read as (default: only what all agents may see)",
    },
    depth: { type: "number", value: "<n>", help: "maximum number of steps to follow" },
    limit: { type: "number", value: "<n>", help: "maximum number of records to visit" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [id = ""], options: { as, depth, limit, json, ...choice } }) {
    await using hub = await openExisting(choice);
    const who = as === undefined ? hub : await hub.agent(as);
    const found = await who.memories.impact(id, omitUndefined({ depth, limit }));
    if (json) printJson(found);
    else printImpact(found);
    return OK;
  },
});

function printImpact(found: Impact): void {
  const { memory, downstream, deliveries, agents, hidden, cut } = found;
  const open = deliveries.filter((delivery) => delivery.open);
  printLine(
    `${bold(memory.id)}  ${oneLine(`${memory.type} of ${memory.agent}: ${memory.content}`, 44)}`,
  );
  if (memory.quarantined) {
    const { by, reason } = memory.quarantined;
    printLine(bad(oneLine(`  quarantined by ${by}: ${reason}`)));
  }
  printTree(found);
  if (deliveries.length > 0) printLine(dim("  handoffs"));
  for (const delivery of deliveries) printImpactDelivery(delivery);
  printField(
    "seen by",
    agents.map(({ agent, ways }) => `${agent} (${ways.join(", ")})`),
  );
  const counts = [
    plural(downstream.length, "record"),
    plural(deliveries.length, "delivery"),
    `${open.length} open`,
    `seen by ${plural(agents.length, "agent")}`,
  ];
  if (hidden > 0) counts.push(`${plural(hidden, "more record")} not visible to you`);
  const isNothing = downstream.length + agents.length + hidden === 0;
  printLine(isNothing ? good("Nothing builds on it.") : bold(counts.join(", ")));
  for (const { memory: at, why } of cut) printLine(dim(`More (${why}): baton impact ${at}`));
  if (found.more && cut.length === 0)
    printLine(dim("More results exist: increase --depth or --limit."));
}

/** Prints each record below the one it is derived from. */
function printTree({ memory, downstream }: Impact): void {
  const shown = new Set([memory.id, ...downstream.map(({ id }) => id)]);
  const children = Map.groupBy(downstream, ({ via }) =>
    via.memory !== undefined && shown.has(via.memory) ? via.memory : memory.id,
  );
  const below = (id: string, indent: string): void => {
    for (const child of children.get(id) ?? []) {
      printLine(`${indent}${lineOf(child, indent.length)}`);
      below(child.id, `${indent}  `);
    }
  };
  below(memory.id, "  ");
}

function lineOf({ id, type, agent, about, via, quarantined }: ImpactMemory, used: number): string {
  const how = via.memory === undefined ? "through a hidden record" : via.kind;
  const text = `${type} of ${agent} (${how}): ${about}`;
  const mark = quarantined ? `${bad("quarantined")} ` : "";
  return `${dim(id)}  ${mark}${oneLine(text, used + id.length + 2)}`;
}

function printImpactDelivery({
  id,
  state,
  open,
  task,
  sender,
  receiver,
  holder,
}: ImpactDelivery): void {
  const who = holder === undefined ? "" : `, ${open ? "held" : "last held"} by ${holder}`;
  const line = oneLine(`${state} ${task} from ${sender} to ${receiver}${who}, ${id}`, 4);
  printLine(`    ${open ? bold(line) : line}`);
}

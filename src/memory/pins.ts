/**
 * Pins: facts that always travel. A pin is a memory like any other, of type `pin`, that points to
 * what it pins; taking it off is another memory that supersedes it. So it is known who pinned what
 * and when, and nothing has a table of its own.
 */
import { BatonError } from "../errors.ts";
import { FORMAT_LIMITS } from "../limits.ts";
import type { Workspace } from "../store/workspace.ts";
import { readMemory, recentMemories } from "./read.ts";
import type { Author, Memory } from "./record.ts";
import { remember } from "./remember.ts";

const PIN = "pin";
const UNPIN = "unpin";

/** Pins a memory. Pinning what is pinned already changes nothing. */
export async function pin(workspace: Workspace, author: Author, memory: string): Promise<void> {
  const target = await readMemory(workspace, memory);
  const pinned = await activePins(workspace);
  if (pinned.some((each) => each.pins === target.id)) return;
  if (pinned.length >= FORMAT_LIMITS.listItems) {
    throw new BatonError("limit_exceeded", {
      message: `There are ${pinned.length} pins already; they travel with every handoff.`,
      path: "pin",
      hint: "Unpin what no longer has to be known by everybody.",
      details: { limit: "listItems", max: FORMAT_LIMITS.listItems, actual: pinned.length + 1 },
    });
  }
  await remember(workspace, author, [
    {
      type: PIN,
      content: `Pinned: ${firstLine(target.content)}`,
      refs: [target.id],
      relations: [{ kind: "references", to: target.id }],
    },
  ]);
}

/** Takes a pin off. Unpinning what is not pinned changes nothing. */
export async function unpin(workspace: Workspace, author: Author, memory: string): Promise<void> {
  const target = await readMemory(workspace, memory);
  const active = (await activePins(workspace)).find((each) => each.pins === target.id);
  if (active === undefined) return;
  await remember(workspace, author, [
    {
      type: UNPIN,
      content: `Unpinned: ${firstLine(target.content)}`,
      refs: [target.id],
      relations: [{ kind: "supersedes", to: active.pin }],
    },
  ]);
}

/** Everything that is pinned, in the order it was pinned. */
export async function pinnedMemories(workspace: Workspace): Promise<Memory[]> {
  const pins = await activePins(workspace);
  return Promise.all(pins.map((each) => readMemory(workspace, each.pins)));
}

interface ActivePin {
  readonly pin: string;
  readonly pins: string;
}

async function activePins(workspace: Workspace): Promise<ActivePin[]> {
  const ended = new Set<string>();
  for (const record of await all(workspace, UNPIN)) {
    for (const relation of record.relations ?? []) ended.add(relation.to);
  }
  const active = (await all(workspace, PIN)).filter((record) => !ended.has(record.id));
  return active.reverse().map((record) => ({ pin: record.id, pins: record.refs?.[0] ?? "" }));
}

async function all(workspace: Workspace, type: string): Promise<Memory[]> {
  const found: Memory[] = [];
  const limit = workspace.limits.pageSize;
  let page: Memory[];
  do {
    const before = found.at(-1)?.seq;
    page = await recentMemories(workspace, { type, limit, ...(before ? { before } : {}) });
    found.push(...page);
  } while (page.length === limit);
  return found;
}

const firstLine = (text: string): string => text.split("\n", 1)[0]?.slice(0, 200) ?? "";

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
      content: `${author.agent} pinned ${target.id}.`,
      refs: [target.id],
      relations: [{ kind: "references", to: target.id }],
    },
  ]);
}

/** Takes a pin off. Unpinning what is not pinned changes nothing. */
export async function unpin(workspace: Workspace, author: Author, memory: string): Promise<void> {
  const target = await readMemory(workspace, memory);
  const active = (await activePins(workspace)).filter((each) => each.pins === target.id);
  if (active.length === 0) return;
  await remember(workspace, author, [
    {
      type: UNPIN,
      content: `${author.agent} unpinned ${target.id}.`,
      refs: [target.id],
      relations: active.map((each) => ({ kind: "supersedes" as const, to: each.pin })),
    },
  ]);
}

/** Everything that is pinned, in the order it was pinned. */
export async function pinnedMemories(workspace: Workspace): Promise<Memory[]> {
  // Two agents may pin the same thing at the same moment: it is pinned, once.
  const pinned = new Set((await activePins(workspace)).map((each) => each.pins));
  return Promise.all([...pinned].map((memory) => readMemory(workspace, memory)));
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
  // Anybody may call a memory a pin; one that names nothing pins nothing.
  return active
    .reverse()
    .flatMap(({ id, refs = [] }) => refs.slice(0, 1).map((pins) => ({ pin: id, pins })));
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

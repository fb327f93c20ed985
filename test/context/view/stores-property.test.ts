/** Property test of view budgets through real hubs: random workspaces and random handoffs. */

import { describe, expect, it } from "vitest";
import { VIEW_STRATEGIES } from "../../../src/envelope/schema.ts";
import { type Agent, isBatonError, type MemoryInput } from "../../../src/index.ts";
import { exactTokenizer } from "../../../src/text/tokens.ts";
import { visibleText } from "../../../src/text/visible.ts";
import { openFresh } from "../../support/hub/support.ts";
import { chosenSeed, type Random, randomFrom } from "../../support/random.ts";
import { runs } from "../../support/runs.ts";
import { randomText } from "./random-view.ts";

/** Number of random stores, largest number of memories per store, and views per store. */
const SIZES = {
  memory: { stores: runs(30), memories: 60, views: 20 },
  sqlite: { stores: runs(1), memories: 150, views: 75 },
} as const;
/** Text in every memory that is not visible to the whole team. */
const PRIVATE = "for my eyes only";

interface Written {
  readonly ids: readonly string[];
  readonly open: readonly string[];
  readonly superseded: ReadonlySet<string>;
  readonly pins: ReadonlyMap<string, string>;
}

/** Writes memories of every scope that relate to and supersede each other; some are pinned. */
async function write(
  random: Random,
  agents: readonly [Agent, ...Agent[]],
  most: number,
): Promise<Written> {
  const ids: string[] = [];
  const open: string[] = [];
  const superseded = new Set<string>();
  const pins = new Map<string, string>();
  const memories = 1 + random.below(most);
  for (let n = 0; n < memories; n++) {
    const agent = random.pick(agents);
    const scope = random.chance(0.2) ? random.pick(["agent", "session"] as const) : "team";
    const target = open.length > 0 ? random.pick(open as [string, ...string[]]) : undefined;
    const replaces = random.chance(0.15) && scope === "team" && !pins.has(target ?? "");
    const kind = replaces ? "supersedes" : random.pick(["supports", "derived-from"] as const);
    const said = `${n}. ${randomText(random, random.chance(0.1) ? 300 : 30)} login`;
    const input: MemoryInput = {
      content: scope === "team" ? said : `${said} ${PRIVATE}`,
      scope,
      type: random.pick(["finding", "decision", "step", "mistake", "convention"]),
      ...(random.chance(0.5) && { task: "auth" }),
      ...(target !== undefined && random.chance(0.6) && { relations: [{ kind, to: target }] }),
    };
    const { id, content } = await agent.remember(input);
    ids.push(id);
    if (scope === "team") open.push(id);
    if (input.relations?.[0]?.kind === "supersedes" && target) superseded.add(target);
    if (random.chance(0.03)) {
      await agent.memories.pin(id);
      if (scope === "team") pins.set(id, content);
    }
  }
  for (const id of superseded) pins.delete(id);
  return { ids, open, superseded, pins };
}

describe.each(["memory", "sqlite"] as const)("views of random workspaces on %s", (store) => {
  const { stores, memories, views } = SIZES[store];

  it(`fit the budget, have all musts, leak nothing, ${stores * views} times [CTX-1 CTX-2 CTX-4]`, {
    timeout: runs(120_000),
  }, async () => {
    const seed = chosenSeed();
    console.log(`BATON_SEED=${seed}`);
    const random = randomFrom(seed);
    let composed = 0;
    for (let n = 0; n < stores; n++) {
      const hub = await openFresh(store);
      const ada = await hub.agent("ada", { role: "planner" });
      const ben = await hub.agent("ben", { role: "coder" });
      const written = await write(random, [ada, ben], memories);
      for (let round = 0; round < views; round++) {
        const kept = await keepsPromises(random, ada, written).catch((cause: unknown) => {
          throw new Error(`BATON_SEED=${seed}: ${cause}`, { cause });
        });
        if (kept) composed++;
      }
      await hub.close();
    }
    console.log(`${composed} of ${stores * views} composed`);
    expect(composed).toBeGreaterThan((stores * views) / 10);
    expect(composed).toBeLessThan(stores * views);
  });
});

/** Previews a random handoff and checks the view. Returns false if the musts do not fit. */
async function keepsPromises(random: Random, ada: Agent, written: Written): Promise<boolean> {
  const { count } = await exactTokenizer("o200k_base");
  const tokens = Math.floor(2 ** (6 + 8 * random.next()));
  const [first, ...others] = written.open;
  const refs =
    first === undefined
      ? []
      : Array.from({ length: random.below(6) }, () => random.pick([first, ...others]));
  const rule = `Rule ${random.below(1_000)} holds.`;
  const intent = `Repair the login, case ${random.below(1_000)}.`;
  const draft = {
    to: "ben",
    task: "auth",
    intent,
    constraints: [{ rule, level: "must" as const }],
    refs: [...new Set(refs)],
  };
  const strategy = random.pick(VIEW_STRATEGIES);
  const role = random.pick(["coder", "tester", "reviewer"]);
  const options = { tokens, strategy, role, tokenizer: "o200k_base" as const };
  const musts = [intent, rule, ...written.pins.values()];
  const view = await ada.handoffs.preview(draft, options).then(
    (preview) => preview.view,
    (error: unknown) => refusedFor(error, musts),
  );
  if (view === undefined) return false;
  expect(count(view.text)).toBe(view.tokens);
  expect(view.tokens).toBeLessThanOrEqual(tokens);
  for (const must of musts) expect(view.text).toContain(visibleText(must));
  expect(view.text).not.toContain(PRIVATE);
  const places = [...view.shown, ...view.omitted].map(({ id }) => id);
  expect(new Set(places).size).toBe(places.length);
  const stale = view.omitted.filter(({ id }) => written.superseded.has(id));
  expect(stale.every(({ id, why }) => why === "said" && draft.refs.includes(id))).toBe(true);
  expect(view.shown.filter(({ id }) => written.superseded.has(id))).toEqual([]);
  const hidden = new Set(written.ids).difference(new Set(written.open));
  expect(places.filter((id) => hidden.has(id))).toEqual([]);
  expect(view.completeness).toBe(1);
  return true;
}

/** Checks that a refusal names every must. */
function refusedFor(error: unknown, musts: readonly string[]): undefined {
  if (!isBatonError(error) || error.code !== "budget_too_small") throw error;
  const { items } = error.details as { items: readonly { readonly text: string }[] };
  const named = items.map(({ text }) => text).join("\n");
  for (const must of musts) expect(named).toContain(excerptOf(must));
}

/** Returns enough of a text to identify it. */
const excerptOf = (must: string): string => must.replace(/\s+/gu, " ").trim().slice(0, 12).trim();

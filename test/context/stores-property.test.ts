/** The same promises through real hubs: random workspaces, and views of random handoffs over them. */
import { describe, expect, it } from "vitest";
import { exactly } from "../../src/context/tokens.ts";
import { STRATEGIES } from "../../src/envelope/schema.ts";
import { type Agent, isBatonError, type MemoryInput, type View } from "../../src/index.ts";
import { openFresh } from "../behaviour/support.ts";
import { chosenSeed, type Random, randomFrom } from "../support/random.ts";
import { randomText } from "./random-view.ts";

const MEMORIES = 150;
const VIEWS = 150;
/** In every record that not everybody may see. */
const PRIVATE = "for my eyes only";

interface Written {
  readonly ids: readonly string[];
  readonly open: readonly string[];
  readonly superseded: ReadonlySet<string>;
  readonly pins: ReadonlyMap<string, string>;
}

/** Records of every scope that point at each other, supersede each other, and are pinned. */
async function write(random: Random, agents: readonly [Agent, ...Agent[]]): Promise<Written> {
  const ids: string[] = [];
  const open: string[] = [];
  const superseded = new Set<string>();
  const pins = new Map<string, string>();
  for (let n = 0; n < MEMORIES; n++) {
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
      await agent.pin(id);
      if (scope === "team") pins.set(id, content);
    }
  }
  for (const id of superseded) pins.delete(id);
  return { ids, open, superseded, pins };
}

describe.each(["memory", "sqlite"] as const)("views over a random workspace on %s", (store) => {
  it(`keep every promise, ${VIEWS} times [CTX-1 CTX-2 CTX-4]`, { timeout: 180_000 }, async () => {
    const seed = chosenSeed();
    console.log(`BATON_SEED=${seed}`);
    const random = randomFrom(seed);
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", { role: "planner" });
    const ben = await hub.agent("ben", { role: "coder" });
    const written = await write(random, [ada, ben]);
    const { count } = await exactly("o200k_base");
    let composed = 0;
    for (let n = 0; n < VIEWS; n++) {
      const tokens = Math.floor(2 ** (9 + 5 * random.next()));
      const refs = Array.from({ length: random.below(6) }, () =>
        random.pick(written.open as [string, ...string[]]),
      );
      const draft = {
        to: "ben",
        task: "auth",
        intent: `Repair the login, round ${n}.`,
        constraints: [{ rule: `Rule ${n} holds.`, level: "must" as const }],
        refs: [...new Set(refs)],
      };
      const strategy = random.pick(STRATEGIES);
      const role = random.pick(["coder", "tester", "reviewer"]);
      const options = { tokens, strategy, role, tokenizer: "o200k_base" as const };
      const outcome = await ada.preview(draft, options).then(
        ({ view }) => view,
        (error: unknown) => error,
      );
      if (isBatonError(outcome)) {
        expect(outcome.code).toBe("budget_too_small");
        continue;
      }
      if (outcome instanceof Error) throw outcome;
      const view = outcome as View;
      composed++;
      expect(count(view.text)).toBe(view.tokens);
      expect(view.tokens).toBeLessThanOrEqual(tokens);
      expect(view.text).toContain(`Rule ${n} holds.`);
      expect(view.text).not.toContain(PRIVATE);
      for (const content of written.pins.values()) expect(view.text).toContain(content);
      const places = [...view.shown, ...view.omitted].map(({ id }) => id);
      expect(new Set(places).size).toBe(places.length);
      expect(places.filter((id) => written.superseded.has(id))).toEqual([]);
      const hidden = new Set(written.ids).difference(new Set(written.open));
      expect(places.filter((id) => hidden.has(id))).toEqual([]);
      expect(view.completeness).toBe(1);
    }
    console.log(`${composed} of ${VIEWS} composed`);
    expect(composed).toBeGreaterThan(VIEWS / 10);
  });
});

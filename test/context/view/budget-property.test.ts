/** Property test of view budgets: random handoffs and memories, counted by the real tokenizers. */
import assert from "node:assert/strict";
import { expect, it } from "vitest";
import { isBatonError } from "../../../src/base/errors.ts";
import { usableTokens } from "../../../src/context/view/budget.ts";
import { viewOf } from "../../../src/context/view/compose.ts";
import { earlierParts } from "../../../src/context/view/earlier-parts.ts";
import { partsOf } from "../../../src/context/view/envelope-parts.ts";
import { expandRange } from "../../../src/context/view/part-ranges.ts";
import type { View } from "../../../src/context/view/view.ts";
import { SECTIONS } from "../../../src/profiles/view-parts.ts";
import { withBoundary } from "../../../src/text/fence.ts";
import {
  ENCODINGS,
  exactTokenizer,
  type Tokenizer,
  tokenizerFor,
} from "../../../src/text/tokens.ts";
import { visibleText } from "../../../src/text/visible.ts";
import { chosenSeed, type Random, randomFrom } from "../../support/random.ts";
import { runs } from "../../support/runs.ts";
import { randomEnvelope, randomGathered, randomProfile, randomStrategy } from "./random-view.ts";

const RUNS = runs(1_000);

it("keeps random views within budget, with every must and a full manifest [CTX-2 CTX-3 CTX-4]", {
  timeout: runs(120_000),
}, async () => {
  const seed = chosenSeed();
  console.log(`BATON_SEED=${seed}`);
  const random = randomFrom(seed);
  const tokenizers = [
    ...(await Promise.all(ENCODINGS.map(exactTokenizer))),
    await tokenizerFor("claude"),
  ];
  let refused = 0;
  let full = 0;
  for (let run = 0; run < RUNS; run++) {
    const tokenizer = random.pick(tokenizers as [Tokenizer, ...Tokenizer[]]);
    const outcome = seeded(seed, () => compose(random, tokenizer));
    if (outcome === "refused") refused++;
    else if (outcome.omitted.length === 0) full++;
  }
  console.log(`${refused} refused, ${full} with nothing left out`);
  expect(refused, "budgets below what must travel were among them").toBeGreaterThan(RUNS / 50);
  expect(full, "and budgets that everything fits into").toBeGreaterThan(RUNS / 50);
});

/** Runs a function, and adds the seed that reproduces a failure to its error. */
function seeded<T>(seed: number, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw new Error(`BATON_SEED=${seed}: ${cause}`, { cause });
  }
}

/** Composes and checks a random view. Returns "refused" if mandatory content does not fit. */
function compose(random: Random, tokenizer: Tokenizer): View | "refused" {
  const envelope = randomEnvelope(random);
  const gathered = randomGathered(random);
  const tokens = Math.floor(2 ** (7 + 6 * random.next()));
  const { name, exact, margin } = tokenizer;
  const budget = { tokens, from: "call", tokenizer: name, exact, margin } as const;
  const composing = {
    envelope,
    delivery: "dlv_1",
    to: { agent: "coder", role: "coder" },
    profile: randomProfile(random),
    tokenizer,
    budget,
    strategy: randomStrategy(random),
    boundary: String(100 + random.below(421)),
  };
  const parts = partsOf(envelope, gathered);
  const pins = gathered.candidates.filter(({ section }) => section === "pins");
  const musts = new Map([
    ...parts
      .filter(({ kind }) => kind === "must")
      .map(({ id, text }) => [id, withBoundary(text, composing.boundary)] as const),
    ...pins.map(({ memory: { id, content } }) => [id, visibleText(content)] as const),
  ]);
  try {
    const view = viewOf(gathered, composing);
    assert.equal(tokenizer.count(view.text), view.tokens);
    assert.ok(view.tokens <= usableTokens(budget), `${view.tokens} of ${usableTokens(budget)}`);
    for (const [id, text] of musts) assert.ok(view.text.includes(text), `${id} is in it`);
    checkManifest(view, [
      ...parts.map(({ id }) => id),
      ...gathered.attempts.map((_, i) => `${composing.delivery}#attempts[${i}]`),
      ...earlierParts(envelope, gathered.earlier).map(({ id }) => id),
      ...gathered.earlier.envelopes.map(({ id }) => id),
      ...gathered.candidates.map(({ memory }) => memory.id),
    ]);
    if (random.chance(0.1)) assert.deepEqual(viewOf(gathered, composing), view);
    return view;
  } catch (error) {
    if (!isBatonError(error)) throw error;
    assert.equal(error.code, "budget_too_small");
    const { needed, over, room, atLeast, items } = error.details as unknown as Refusal;
    assert.equal(room, usableTokens(budget));
    assert.ok(over > 0 && over === needed - room);
    assert.deepEqual(new Set(items.map(({ id }) => id)), new Set(musts.keys()));
    // The budget that the error suggests is enough, and one token less is not.
    const enough = { ...budget, tokens: atLeast };
    assert.ok(viewOf(gathered, { ...composing, budget: enough }).tokens <= usableTokens(enough));
    assert.ok(usableTokens({ ...budget, tokens: atLeast - 1 }) < needed);
    return "refused";
  }
}

interface Refusal {
  readonly needed: number;
  readonly over: number;
  readonly room: number;
  readonly atLeast: number;
  readonly items: readonly { readonly id: string }[];
}

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, each) => total + each, 0);

/** Checks that each item is in the text or in the manifest, and that section totals match. */
function checkManifest(
  { sections, shown, earlier, omitted, text, tokens }: View,
  considered: string[],
): void {
  const left = omitted.flatMap((each) => (each.shown === undefined ? expandRange(each.id) : []));
  const places = [...left, ...[...shown, ...earlier].map(({ id }) => id)];
  assert.equal(new Set(places).size, places.length, "each is in one place");
  assert.equal(sum(sections.map((use) => use.tokens)), tokens);
  assert.equal(sum(sections.map((use) => use.omitted)), left.length);
  const known = new Set(places);
  const parts = considered.filter((id) => !known.has(id));
  assert.equal(sum(sections.map((use) => use.shown)), parts.length + shown.length + earlier.length);
  for (const id of [...parts.filter((each) => !each.startsWith("env_")), ...shown.map((s) => s.id)])
    assert.ok(text.includes(id) || text.includes(`- ${id.slice(-6)}`), `${id} is in the text`);
  for (const { id, label } of earlier) assert.ok(text.includes(`- ${label} by `), `${id} is in it`);
  for (const { id, shown: level } of omitted) {
    if (level !== undefined) assert.ok(text.includes(`read ${id}`), `${id} is in it in part`);
  }
  const order = shown.map(({ section }) => SECTIONS.indexOf(section));
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  );
}

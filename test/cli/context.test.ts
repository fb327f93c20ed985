/** Context on the command line: previews, lint, views, primers, detail levels and profiles. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { type Draft, ERROR_CODES } from "../../src/index.ts";
import { withoutNumbers } from "../support/fences.ts";
import { baton, type TestStore, team, testStore } from "./baton.ts";

const LONG = Array.from({ length: 30 }, (_, n) => `Case ${n} of the token module fails.`).join(" ");

async function data<T>(store: TestStore, ...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await store.baton(...args, "--json");
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as T;
}

/** Creates a team whose planner has a pinned decision, a plan and six long findings. */
async function withMemories(store: TestStore): Promise<{ decision: string; plan: string }> {
  await team(store);
  await using hub = await store.open();
  const ada = await hub.agent("ada");
  await hub.agent("ben", { model: "gpt-4o", window: 8_000 });
  const decision = await ada.remember({
    type: "decision",
    content: "Sessions are stored in Redis, not in the database.",
  });
  const plan = await ada.remember({ type: "plan", task: "auth", content: "Split, then test." });
  await ada.memories.pin(decision.id);
  for (let n = 0; n < 6; n++) {
    await ada.remember({ type: "finding", task: "auth", content: `Finding ${n}. ${LONG}` });
  }
  return { decision: decision.id, plan: plan.id };
}

const SEND = ["handoff", "send", "Refactor auth", "--as", "ada", "--to", "ben", "--task", "auth"];

async function accepted(store: TestStore, draft: Partial<Draft> = {}): Promise<string> {
  await using hub = await store.open();
  const ada = await hub.agent("ada");
  await ada.handoff({ to: "ben", task: "auth", intent: "Refactor auth", ...draft });
  const ben = await hub.agent("ben", undefined, { lease: "session" });
  return (await ben.accept())?.handle ?? "";
}

describe("baton handoff send --preview", () => {
  it("shows what is sent, what is left out and why, and sends nothing [CTX-4]", async () => {
    using store = testStore();
    const { decision, plan } = await withMemories(store);
    const { code, stdout, stderr } = await store.baton(
      ...SEND,
      ...["--constraint", "Keep the fixtures", "--ref", `${plan}@full`, "--budget", "500"],
      "--preview",
    );
    expect(code, stderr).toBe(0);
    const lines = stdout.split("\n");
    expect(lines[0]).toBe("ada → ben  delegated, not sent");
    expect(stdout).toMatch(/always sent +Refactor auth\n +must +Keep the fixtures \(con-/);
    const bar = lines.find((line) => line.startsWith("["));
    expect(bar).toMatch(/^\[#+!+\^+=+-+\.*\]$/);
    expect(stdout).toMatch(/\d+ of 500 tokens, \d+ % \(set by the sender; o200k_base; strategy/);
    expect(stdout).toMatch(new RegExp(`pins +full +\\d+ +${decision} +decision: Sessions`));
    expect(stdout).toMatch(new RegExp(`references +full +\\d+ +${plan} +plan: Split, then test`));
    expect(stdout).toMatch(
      /Left out\n( +recent +over budget +\d+ +mem_\S+ +finding: Finding.*\n)+/,
    );
    expect(stdout).toContain('--next "Extract validateToken()"');
    expect(stdout).not.toContain("\u001b[");
    await using hub = await store.open();
    expect(await hub.tasks.line("auth")).toEqual([]);
  });

  it("has colours with FORCE_COLOR, and includes view and lint in --json [CTX-4]", async () => {
    using store = testStore();
    await withMemories(store);
    const env = { BATON_STORE: store.address, FORCE_COLOR: "1" };
    const coloured = await baton([...SEND, "--preview"], { env });
    expect(coloured.stdout).toContain("\u001b[36m█");
    const shown = await data<{
      view: { budget: { tokens: number }; strategy: string; shown: object[]; omitted: object[] };
      to: string;
      lint: { ok: boolean; findings: object[] };
    }>(store, ...SEND, "--preview", "--strategy", "lazy", "--recent", "2", "--budget", "2000");
    expect(shown.to).toBe("ben");
    expect(shown.view).toMatchObject({ budget: { tokens: 2_000 }, strategy: "lazy" });
    expect(shown.view.shown.length).toBeGreaterThan(0);
    expect(shown.lint).toMatchObject({ ok: true, findings: [{ rule: "no_next_step" }, {}] });
  });

  it("keeps the work of --continue open [CTX-4]", async () => {
    using store = testStore();
    await withMemories(store);
    const handle = await accepted(store);
    const words = ["handoff", "send", "--continue", handle, "--to", "cyd", "--next", "Review it"];
    const shown = await store.baton(...words, "--preview");
    expect(shown.stdout).toMatch(/^ben → cyd/);
    expect(shown.stdout).toMatch(/always sent +Refactor auth/);
    const { state } =
      (await data<{ deliveries: { state: string }[] }>(store, ...words)).deliveries[0] ?? {};
    expect(state).toBe("ready");
  });

  it("reports superseded and missing references of handed-on work [CTX-8 CTX-9]", async () => {
    using store = testStore();
    const { plan } = await withMemories(store);
    await using hub = await store.open();
    const ada = await hub.agent("ada");
    const now = await ada.remember({
      type: "plan",
      task: "auth",
      content: "Test, then split.",
      relations: [{ kind: "supersedes", to: plan }],
    });
    const missing = "mem_00000000-0000-7000-8000-000000000000";
    const handle = await accepted(store, {
      constraints: [{ id: "fixtures", rule: "Do not touch the test fixtures" }],
      refs: [plan, { id: missing, optional: true }],
    });
    const seen = await store.baton("view", handle);
    expect(withoutNumbers(seen.stdout)).toContain(
      `, holds instead of STALE ${plan}: «Test, then split.»`,
    );
    expect(seen.stdout).toContain(`Superseded: ${plan}; replaced by ${now.id}`);
    const words = ["handoff", "send", "--continue", handle, "--to", "cyd"];
    const shown = await store.baton(...words, "--next", "Review it", "--preview");
    expect(shown.stdout).toContain(`Missing: ${missing}, no record has this id`);
    const sent = await store.baton(...words, "--next", "Touch the test fixtures");
    expect(sent.stdout).toMatch(/next\[0\]: conflicts with "Do not touch .*\(fixtures\)/);
    expect(sent.stdout).toContain(`Missing: ${missing}`);
  });

  it("lists what the view must include when the budget is too small [CTX-2]", async () => {
    using store = testStore();
    await withMemories(store);
    const { code, stderr } = await store.baton(...SEND, "--budget", "20", "--preview");
    expect(code).toBe(ERROR_CODES.budget_too_small.exit);
    expect(stderr).toMatch(/What the view must include takes \d+ tokens, \d+ more/);
    expect(stderr).toMatch(/\d+ {2}pins: Sessions are stored in Redis/);
    expect(stderr).toMatch(/at budget\.tokens\n hint .*baton pin <memory> --off/);
  });
});

describe("baton handoff send", () => {
  it("accepts references with level and summary, optional ones, criteria [CTX-6]", async () => {
    using store = testStore();
    const { decision, plan } = await withMemories(store);
    const missing = "mem_00000000-0000-7000-8000-000000000000";
    const { envelope } = await data<{ envelope: Draft }>(
      store,
      ...SEND,
      ...["--ref", `${decision}@summary=Redis it is`, "--ref", plan, "--ref", `${missing}?`],
      ...["--expect", "patch:diff=All tests pass; it is small", "--recent", "3"],
    );
    expect(envelope).toMatchObject({
      refs: [{ id: decision, level: "summary", summary: "Redis it is" }, { id: plan }],
      gaps: [{ id: missing }],
      expects: [{ name: "patch", type: "diff", criteria: ["All tests pass", "it is small"] }],
      recent: 3,
    });
    const wrong = await store.baton(...SEND, "--ref", `${plan}@much`);
    expect(wrong.code).toBe(64);
    expect(wrong.stderr).toContain("@reference|summary|detail|full");
  });

  it("releases a constraint, and requires a reason [ENV-10]", async () => {
    using store = testStore();
    await team(store);
    const first = ["--constraint", "Keep the fixtures"];
    const { envelope } = await data<{ envelope: { constraints: { id: string }[] } }>(
      store,
      ...SEND,
      ...first,
    );
    const id = envelope.constraints[0]?.id ?? "";
    const bare = await store.baton(...SEND, "--release", id);
    expect(bare.stderr).toContain("the reason is missing");
    const next = await data<{ envelope: object }>(
      store,
      ...["handoff", "send", "Refactor auth", "--as", "ada", "--to", "cyd", "--task", "auth"],
      ...["--release", `${id}=The fixtures are gone`],
    );
    expect(next.envelope).toMatchObject({
      constraints: [],
      released: [{ id, by: "ada", reason: "The fixtures are gone" }],
    });
  });
});

describe("baton pin", () => {
  it("lists pins, pins a memory, and unpins it with --off [CTX-1]", async () => {
    using store = testStore();
    const { decision, plan } = await withMemories(store);
    const list = async (...args: string[]) =>
      (await data<{ id: string }[]>(store, "pin", ...args, "--as", "ada")).map(({ id }) => id);
    expect(await list()).toEqual([decision]);
    expect((await list(plan)).sort()).toEqual([decision, plan].sort());
    const preview = await store.baton(...SEND, "--preview");
    expect(preview.stdout).toMatch(new RegExp(`pins +full +\\d+ +${plan}`));
    expect(await list(decision, "--off")).toEqual([plan]);
    const shown = await store.baton("pin", plan, "--off", "--as", "ben");
    expect(shown.stdout).toBe("No pinned memories.\n");
  });
});

describe("baton agent add", () => {
  it("stores model and context window, which set the budget of a view [CTX-2]", async () => {
    using store = testStore();
    await team(store);
    await store.baton("agent", "add", "ben", "--model", "gpt-4o", "--window", "10000");
    expect((await store.baton("agents")).stdout).toMatch(/ben +coder +gpt-4o, 10,000 tokens/);
    const { stdout } = await store.baton(...SEND, "--preview");
    expect(stdout).toMatch(/of 3,000 tokens, \d+ % \(from the receiver's context window/);
  });
});

describe("baton lint", () => {
  it("reports findings with hints that name options, and fails on a secret [ENV-12]", async () => {
    using store = testStore();
    await team(store);
    const poor = await store.baton("lint", "Fix it", "--as", "ada", "--to", "ben");
    expect(poor.code).toBe(0);
    expect(poor.stdout).toMatch(/warn {2}next: has no step {2}no_next_step\n +Name .*--next/);
    expect(poor.stdout).toContain("0 errors, 3 warnings");
    const secret = `gh${"p_"}aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2`;
    const words = [
      "Refactor auth",
      "--as",
      "ada",
      "--to",
      "ben",
      "--expect",
      "patch:diff=It works",
    ];
    const bad = await store.baton("lint", ...words, "--next", `Log in with ${secret}`);
    expect(bad.code).toBe(ERROR_CODES.lint_refused.exit);
    expect(bad.stdout).toContain("error next[0]: looks like a secret (GitHub token)");
    expect(bad.stdout).not.toContain(secret);
  });

  it("names the decision that a draft repeats, and passes a good draft [ENV-12]", async () => {
    using store = testStore();
    const { decision } = await withMemories(store);
    const words = [
      "Refactor auth",
      "--as",
      "ada",
      "--to",
      "ben",
      "--expect",
      "patch:diff=It works",
    ];
    const said = "Sessions are stored in Redis, not in the database";
    const repeats = await store.baton("lint", ...words, "--next", said);
    expect(repeats.stdout).toContain(`--ref ${decision}`);
    const good = await store.baton("lint", ...words, "--next", "Extract validateToken()");
    expect(good.stdout).toBe("No findings.\n");
    expect(await data<object>(store, "lint", ...words, "--next", "Look")).toEqual({
      ok: true,
      findings: [],
    });
  });

  it("lints a sent handoff by its delivery or envelope [ENV-12]", async () => {
    using store = testStore();
    await team(store);
    const { deliveries, envelope } = await data<{
      deliveries: { id: string }[];
      envelope: { id: string };
    }>(store, ...SEND);
    for (const id of [deliveries[0]?.id ?? "", envelope.id]) {
      const { findings } = await data<{ findings: { rule: string }[] }>(store, "lint", id);
      expect(findings.map(({ rule }) => rule)).toEqual(["no_next_step", "no_criteria"]);
    }
  });

  it("shows and sets the rules; a rule set to refuse stops a handoff [ENV-12]", async () => {
    using store = testStore();
    await team(store);
    const before = await store.baton("lint", "--rules");
    expect(before.stdout).toMatch(/no_next_step +warn +The handoff does not state/);
    const after = await store.baton("lint", "--rules", "no_next_step=refuse", "no_criteria=off");
    expect(after.stdout).toMatch(/no_next_step +refuse/);
    expect(after.stdout).toMatch(/no_criteria +off/);
    const { code, stderr } = await store.baton(...SEND);
    expect(code).toBe(ERROR_CODES.lint_refused.exit);
    expect(stderr).toContain("next: has no step");
    expect(stderr).toContain("hint Name the first step: --next");
    expect((await store.baton(...SEND, "--next", "Look at it")).code).toBe(0);
    const unknown = await store.baton("lint", "--rules", "no_nextstep=refuse");
    expect(unknown.code).toBe(64);
    expect(unknown.stderr).toContain("Did you mean no_next_step?");
    const wrong = await store.baton("lint", "--rules", "secret=maybe");
    expect(wrong.stderr).toContain("secret=refuse, secret=warn or secret=off");
    expect(await data<object>(store, "lint", "--rules")).toMatchObject({ secret: "warn" });
  });

  it("reports a missing or an extra argument before it opens a store", async () => {
    using store = testStore();
    const noAgent = await store.baton("lint", "Fix it");
    expect(noAgent.stderr).toContain("baton lint needs --as");
    const nothing = await store.baton("lint", "--as", "ada");
    expect(nothing.stderr).toContain("baton lint needs <intent>");
    const extra = await store.baton("lint", "Fix", "it", "--as", "ada");
    expect(extra.stderr).toContain('Unexpected argument "it"');
  });
});

describe("baton view", () => {
  it("composes a view by handle, and shows the stored one by delivery [CTX-1 CTX-4]", async () => {
    using store = testStore();
    const { decision } = await withMemories(store);
    const handle = await accepted(store, { next: ["Look"] });
    const [delivery = ""] = handle.split("#");
    const before = await store.baton("view", delivery);
    expect(before.stdout).toContain("No view of");
    const composed = await store.baton("view", handle, "--tokens", "500");
    expect(composed.code, composed.stderr).toBe(0);
    expect(composed.stdout).toMatch(/^ben, .*: \d+ tokens, \d+ records? left out\n/);
    expect(composed.stdout).toContain("of 500 tokens");
    expect(composed.stdout).toMatch(/pins +full +\d+ +mem_/);
    const seen = await store.baton("view", delivery);
    expect(seen.stdout).toBe(composed.stdout);
    const pasted = await store.baton("view", delivery, "--text");
    expect(composed.stdout).toContain(pasted.stdout.trimEnd());
    const [view] = await data<{ text: string; matches: boolean; shown: { id: string }[] }[]>(
      store,
      ...["view", delivery],
    );
    expect(view).toMatchObject({ text: pasted.stdout, matches: true });
    expect(view?.shown.map(({ id }) => id)).toContain(decision);
  });

  it("refuses composing options for a delivery id, and names the handle form [CTX-1]", async () => {
    using store = testStore();
    await withMemories(store);
    const [delivery = ""] = (await accepted(store)).split("#");
    const { code, stderr } = await store.baton("view", delivery, "--strategy", "lazy");
    expect(code).toBe(64);
    expect(stderr).toContain(`baton view ${delivery}#<n>`);
    const unknown = await store.baton("view", "dlv_00000000-0000-7000-8000-000000000000");
    expect(unknown.code).toBe(ERROR_CODES.unknown_delivery.exit);
  });
});

describe("baton primer", () => {
  it("prints the primer of a handle or delivery in less than 2 KB [CTX-7]", async () => {
    using store = testStore();
    await withMemories(store);
    const handle = await accepted(store, { doNotRedo: ["Choosing a library"] });
    const { stdout } = await store.baton("primer", handle);
    expect(stdout).toMatch(/^You are ben[\s\S]*Refactor auth[\s\S]*Choosing a library/);
    expect(Buffer.byteLength(stdout)).toBeLessThan(2_048);
    const { primer } = await data<{ primer: string }>(store, "primer", handle.split("#")[0] ?? "");
    expect(withoutNumbers(primer.trimEnd())).toBe(withoutNumbers(stdout.trimEnd()));
  });
});

describe("baton read --level", () => {
  it("shows the requested level, and how its text was made [CTX-6]", async () => {
    using store = testStore();
    await team(store);
    await using hub = await store.open();
    const ada = await hub.agent("ada");
    const old = await ada.remember({ content: `REST it is. ${LONG}` });
    const summary = await store.baton("read", old.id, "--level", "summary");
    expect(summary.stdout).toContain("REST it is.");
    expect(summary.stdout).toContain(`extract of its sentences; full text: baton read ${old.id}`);
    expect(summary.stdout.length).toBeLessThan(900);
    const full = await store.baton("read", old.id, "--level", "full");
    expect(full.stdout).toContain(LONG.trim());
    const now = await ada.remember({
      content: "gRPC it is.",
      relations: [{ kind: "supersedes", to: old.id }],
    });
    const fresh = await store.baton("read", old.id, "--freshest");
    expect(fresh.stdout).toContain(`${now.id} supersedes ${old.id}`);
    expect(fresh.stdout).toContain("gRPC it is.");
    const wrong = await store.baton("read", old.id, "--level", "most");
    expect(wrong.stderr).toContain("reference, summary, detail");
    expect((await store.baton("read", "0a1b2c")).stderr).toContain("baton read 0a1b2c --of dlv_…");
  });

  it("summarizes once with the model set in the environment [CTX-6]", async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked++;
      response.end(JSON.stringify({ choices: [{ message: { content: "REST, for caching." } }] }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    using store = testStore();
    try {
      await team(store);
      await using hub = await store.open();
      const { id } = await (await hub.agent("ada")).remember({ content: `REST it is. ${LONG}` });
      const env = {
        BATON_STORE: store.address,
        BATON_SUMMARIZER_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
        BATON_SUMMARIZER_MODEL: "small",
      };
      const read = () => baton(["read", id, "--level", "summary"], { env });
      const first = await read();
      expect(first.stdout, first.stderr).toMatch(/REST, for caching\.\nsummary by a model/);
      expect((await read()).stdout).toMatch(/REST, for caching\.\nstored summary/);
      expect(asked).toBe(1);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

describe("baton profile", () => {
  it("lists the profiles, shows one, sets it and resets it [CTX-5]", async () => {
    using store = testStore();
    await team(store);
    const all = await store.baton("profile");
    expect(all.stdout).toMatch(/^coder +prefers /m);
    const set = await store.baton(
      "profile",
      "coder",
      "--set",
      "types.lesson=5",
      "--set",
      "tokens=3000",
    );
    expect(set.stdout).toMatch(/^coder {2}changed\n +types +lesson 5, /);
    expect(set.stdout).toMatch(/tokens +3000/);
    expect((await store.baton("profile")).stdout).toMatch(/^coder +changed +prefers lesson/m);
    expect(await data<object>(store, "profile", "coder")).toMatchObject({
      role: "coder",
      changed: true,
      tokens: 3_000,
    });
    const reset = await store.baton("profile", "coder", "--reset");
    expect(reset.stdout).toContain("coder  default");
    const undescribed = await store.baton("profile", "codr");
    expect(undescribed.code).toBe(0);
    expect(undescribed.stdout).toContain(
      "codr  no profile: uses the defaults. Did you mean coder?",
    );
    const meant = await store.baton("profile", "gardener", "--set", "tokens=900");
    expect(meant.stdout).toContain('No agent has the role "gardener".');
  });

  it("refuses invalid settings, and names what is wrong [CTX-5]", async () => {
    using store = testStore();
    await team(store);
    const none = await store.baton("profile", "--set", "tokens=1");
    expect(none.stderr).toContain("--set and --reset need <role>.");
    const form = await store.baton("profile", "coder", "--set", "tokens");
    expect(form.stderr).toContain("expected <setting>=<value>");
    const unknown = await store.baton("profile", "coder", "--set", "colour=red");
    expect(unknown.stderr).toContain("Unknown profile setting colour.");
    const near = await store.baton("profile", "coder", "--set", "sections.recnt=0");
    expect(near.stderr).toContain("Did you mean recent?");
    const word = await store.baton("profile", "coder", "--set", "tokens=many");
    expect(word.code).toBe(64);
    const both = await store.baton("profile", "coder", "--set", "tokens=1", "--reset");
    expect(both.stderr).toContain("cannot be combined");
  });
});

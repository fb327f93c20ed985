/** Tests branches: isolation from their base, diff, merge, conflicts, and work on a branch. */

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Agent, isBatonError, type Memory } from "../../../src/index.ts";
import type { MergeResult } from "../../../src/memory/branches/merge.ts";
import { twoHubs } from "../../support/hub/shared-store.ts";
import { openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { until } from "../../support/until.ts";

const said = async (agent: Agent): Promise<string[]> =>
  (await agent.memories.recent({ type: "finding", limit: 1_000 })).items
    .map(({ content }) => content)
    .reverse();

const say = (agent: Agent, content: string, more: Partial<Memory> = {}): Promise<Memory> =>
  agent.remember({ type: "finding", content, ...(more as object) });

describe.each(STORES)("a branch on %s", (store) => {
  async function team() {
    const hub = await openFresh(store);
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    return { hub, planner, coder };
  }

  it("isolates its writes, and sees its base as of its creation [MEM-10]", async () => {
    const { planner, coder } = await team();
    await say(planner, "before");
    const branch = await planner.branches.create("run-42/planner");
    expect(branch.branch).toBe("run-42/planner");
    expect(branch.instance).toBe(planner.instance);
    await say(branch, "on the branch");
    await say(coder, "after");
    expect(await said(branch)).toEqual(["before", "on the branch"]);
    expect(await said(coder)).toEqual(["before", "after"]);
    expect(await said(await coder.branches.use("run-42/planner"))).toEqual([
      "before",
      "on the branch",
    ]);
    const third = await branch.branches.create("run-42/planner/try");
    await say(third, "deeper");
    await say(branch, "later");
    expect(await said(third)).toEqual(["before", "on the branch", "deeper"]);
  });

  it("records its creation and its end in memories [MEM-10]", async () => {
    const { hub, planner } = await team();
    const { id } = await say(planner, "before");
    const branch = await planner.branches.create("try");
    const [first] = (await branch.memories.recent({ type: "branch" })).items;
    expect(first).toMatchObject({ branch: "try", seq: 1, agent: "planner" });
    expect((await branch.memories.relations(first?.id ?? "")).items).toMatchObject([
      { kind: "branches-from", target: id },
    ]);
    await say(branch, "found");
    const merged = await planner.branches.merge("try");
    expect(merged).toMatchObject({
      kind: "merged",
      into: "main",
      tip: 2,
      memory: { type: "merge", branch: "main", data: { branch: "try", tip: 2 } },
    });
    const other = await planner.branches.create("other");
    expect(await planner.branches.abandon("other", "A dead end.")).toMatchObject({
      type: "abandon",
      branch: "other",
    });
    expect((await hub.branches.list()).items).toMatchObject([
      { name: "other", base: "main", state: "abandoned", by: "planner" },
      { name: "try", base: "main", state: "merged", fork: { memory: id, seq: 1 } },
    ]);
    expect((await hub.branches.list({ state: "merged", prefix: "t" })).items).toHaveLength(1);
    expect(
      (await hub.branches.list({ limit: 1, after: "other" })).items.map(({ name }) => name),
    ).toEqual(["try"]);
    expect(other.branch).toBe("other");
    expect(await hub.verify()).toMatchObject({ problems: [] });
  });

  it("has no fork memory when its base is empty [MEM-10]", async () => {
    const hub = await openFresh(store);
    const scout = await hub.agent("scout", {});
    await scout.branches.create("try");
    const [branch] = (await hub.branches.list()).items;
    expect(branch?.fork).toEqual({ seq: 0 });
  });

  it("adds its memories unchanged to its base when merged, and closes [MEM-10]", async () => {
    const { planner, coder } = await team();
    const branch = await planner.branches.create("try");
    const record = await say(branch, "found", { tags: ["x"], task: "auth" });
    expect((await coder.memories.recent({ tag: "x", task: "auth" })).items).toEqual([]);
    await planner.branches.merge("try");
    expect((await coder.memories.recent({ tag: "x", task: "auth" })).items).toEqual([record]);
    expect((await coder.memories.read(record.id)).branch).toBe("try");
    await say(coder, "newest");
    expect(await said(coder)).toEqual(["found", "newest"]);
    expect((await refusal(say(branch, "too late"))).code).toBe("branch_closed");
    expect((await refusal(planner.branches.merge("try"))).code).toBe("branch_closed");
    expect((await refusal(planner.branches.abandon("try", "No."))).code).toBe("branch_closed");
    expect(await said(branch), "and can still be looked at").toEqual(["found"]);
  });

  it("leaves its base unchanged when abandoned, and stays readable by id [MEM-10]", async () => {
    const { planner, coder } = await team();
    const known = await say(planner, "known");
    const branch = await planner.branches.create("try");
    const record = await say(branch, "wrong", {
      relations: [{ kind: "supersedes", to: known.id }],
      task: "auth",
    });
    await branch.memories.pin(record.id);
    const before = (await coder.memories.recent({ limit: 100 })).items;
    await planner.branches.abandon("try", "A dead end.");
    expect((await coder.memories.recent({ limit: 100 })).items).toEqual(before);
    expect((await coder.memories.relations(known.id, { direction: "in" })).items).toEqual([]);
    expect(await coder.memories.pins()).toEqual([]);
    expect((await coder.catchUp()).text).not.toContain("wrong");
    expect(await coder.memories.read(record.id)).toEqual(record);
    expect((await refusal(say(branch, "too late"))).code).toBe("branch_closed");
  });

  it("reports replacements and conflicts, and merges once they are resolved [MEM-10]", async () => {
    const { hub, planner, coder } = await team();
    const known = await say(planner, "Tokens live 10 minutes.");
    const branch = await planner.branches.create("try");
    const ours = await say(branch, "Tokens live 5 minutes.", {
      relations: [{ kind: "supersedes", to: known.id }],
    });
    const theirs = await say(coder, "Tokens live 20 minutes.", {
      relations: [{ kind: "corrects", to: known.id }],
    });
    const conflicts = [
      { kind: "both_replaced", about: known.id, branch: ours.id, base: theirs.id },
    ];
    const diff = await planner.branches.diff("try");
    expect(diff).toMatchObject({
      name: "try",
      into: "main",
      tip: 2,
      count: 2,
      replacements: [{ kind: "supersedes", by: ours.id, of: known.id }],
      conflicts,
    });
    expect(diff.records.map(({ content }) => content)).toEqual([
      'planner created "try" from "main".',
      "Tokens live 5 minutes.",
    ]);
    const before = await hub.verify();
    const found = { kind: "conflicts", branch: "try", conflicts, hidden: 0 };
    expect(await planner.branches.merge("try")).toEqual(found);
    expect(await hub.verify()).toEqual(before);
    expect(await said(coder)).not.toContain("Tokens live 5 minutes.");
    const idle = await refusal(
      planner.branches.merge("try", { resolve: [{ keep: known.id, over: ours.id }] }),
    );
    expect(idle).toMatchObject({ code: "invalid_input", path: "resolve[0]" });
    const merged = await planner.branches.merge("try", {
      resolve: [{ keep: ours.id, over: theirs.id }],
    });
    expect(merged).toMatchObject({ kind: "merged", memory: { refs: [ours.id] } });
    expect((await coder.memories.relations(theirs.id, { direction: "in" })).items).toMatchObject([
      { kind: "supersedes", source: merged.kind === "merged" ? merged.memory.id : "" },
    ]);
  });

  it.each([
    ["base_replaced", "the base replaced a memory that the branch builds on"],
    ["branch_replaced", "the branch replaced a memory that the base builds on"],
  ] as const)("has a conflict (%s) when %s [MEM-10]", async (kind, _when) => {
    const { planner, coder } = await team();
    const known = await say(planner, "known");
    const branch = await planner.branches.create("try");
    const [builder, replacer] = kind === "base_replaced" ? [branch, coder] : [coder, branch];
    const built = await say(builder, "built", {
      relations: [{ kind: "derived-from", to: known.id }],
    });
    const replaced = await say(replacer, "replaced", {
      relations: [{ kind: "supersedes", to: known.id }],
    });
    const [ours, theirs] = builder === branch ? [built, replaced] : [replaced, built];
    const { conflicts } = await planner.branches.diff("try");
    expect(conflicts).toEqual([{ kind, about: known.id, branch: ours.id, base: theirs.id }]);
    // Superseding the base's record resolves the conflict.
    await say(coder, "gone", { relations: [{ kind: "supersedes", to: theirs.id }] });
    expect((await planner.branches.diff("try")).conflicts).toEqual([]);
  });

  it("reports a conflict over a private memory in full only to its author [MEM-10]", async () => {
    const { hub, planner, coder } = await team();
    const known = await say(planner, "known");
    const relations = [{ kind: "supersedes" as const, to: known.id }];
    const mine = await say(await planner.branches.create("try"), "mine", {
      relations,
      scope: "agent",
    });
    const theirs = await say(coder, "theirs", { relations });
    expect(await coder.branches.diff("try")).toMatchObject({ count: 1, conflicts: [], hidden: 1 });
    const before = await hub.verify();
    const outcome = await coder.branches.merge("try");
    expect(outcome).toMatchObject({ kind: "conflicts", conflicts: [], hidden: 1 });
    expect(JSON.stringify(outcome)).not.toContain(mine.id);
    expect(outcome).toHaveProperty("hint", expect.stringContaining("author"));
    expect(await hub.verify()).toEqual(before);
    const conflicts = [
      { kind: "both_replaced", about: known.id, branch: mine.id, base: theirs.id },
    ];
    expect(await planner.branches.diff("try")).toMatchObject({ count: 2, conflicts, hidden: 0 });
    const resolve = [{ keep: theirs.id, over: mine.id }];
    expect(await planner.branches.merge("try", { resolve })).toMatchObject({ kind: "merged" });
    const live = async (who: Agent) => {
      const found = (
        await who.memories.relations(known.id, {
          direction: "in",
          kinds: ["supersedes"],
        })
      ).items;
      const after = await Promise.all(
        found.map(async ({ source }) => {
          const by = (
            await who.memories.relations(source, {
              direction: "in",
              kinds: ["supersedes"],
            })
          ).items;
          return by.length === 0 ? [source] : [];
        }),
      );
      return after.flat();
    };
    expect(await live(planner)).toEqual([theirs.id]);
    expect(await live(coder)).toEqual([theirs.id]);
    expect(JSON.stringify((await coder.memories.recent({ limit: 100 })).items)).not.toContain(
      mine.id,
    );
  });

  it("merges when no agent sees both sides or the derived memory is private [MEM-10]", async () => {
    const { planner, coder } = await team();
    const [one, two] = [await say(planner, "one"), await say(planner, "two")];
    const branch = await planner.branches.create("try");
    const on = (to: string, kind: "supersedes" | "derived-from" = "supersedes") => ({
      relations: [{ kind, to }],
    });
    await say(branch, "mine", { ...on(one.id), scope: "agent" });
    await say(coder, "theirs", { ...on(one.id), scope: "agent" });
    await say(branch, "new", on(two.id));
    await say(coder, "note", { ...on(two.id, "derived-from"), scope: "agent" });
    expect(await planner.branches.merge("try")).toMatchObject({ kind: "merged" });
  });

  it("has a conflict over a quarantined memory, which cannot be kept [MEM-10]", async () => {
    const { planner, coder } = await team();
    const known = await say(planner, "known");
    const relations = [{ kind: "supersedes" as const, to: known.id }];
    const ours = await say(await planner.branches.create("try"), "ours", { relations });
    const theirs = await say(coder, "theirs", { relations });
    await planner.memories.quarantine(ours.id, "Doubtful.");
    expect(await coder.branches.merge("try")).toMatchObject({
      kind: "conflicts",
      conflicts: [{ branch: ours.id, base: theirs.id }],
    });
    const wrong = coder.branches.merge("try", { resolve: [{ keep: ours.id, over: theirs.id }] });
    expect(await refusal(wrong)).toMatchObject({ code: "quarantined", path: "resolve[0].keep" });
    const resolve = [{ keep: theirs.id, over: ours.id }];
    expect(await coder.branches.merge("try", { resolve })).toMatchObject({ kind: "merged" });
  });

  it("still has a conflict when a newer version is private or quarantined [MEM-10]", async () => {
    const { planner, coder } = await team();
    const known = await say(planner, "known");
    const relations = [{ kind: "supersedes" as const, to: known.id }];
    const ours = await say(await planner.branches.create("try"), "ours", { relations });
    const theirs = await say(coder, "theirs", { relations });
    const after = [{ kind: "supersedes" as const, to: theirs.id }];
    await say(coder, "privately", { relations: after, scope: "agent" });
    const conflict = { about: known.id, branch: ours.id, base: theirs.id };
    expect((await coder.branches.diff("try")).conflicts).toMatchObject([conflict]);
    const wrong = await say(coder, "wrongly", { relations: after });
    expect((await coder.branches.diff("try")).conflicts).toEqual([]);
    await coder.memories.quarantine(wrong.id, "Doubtful.");
    expect((await coder.branches.diff("try")).conflicts).toMatchObject([conflict]);
  });

  it("merges into its base, or into the branch its base was merged into [MEM-10]", async () => {
    const { planner, coder } = await team();
    const outer = await planner.branches.create("outer");
    const inner = await outer.branches.create("inner");
    const late = await outer.branches.create("late");
    await say(inner, "inner");
    await planner.branches.merge("inner");
    await say(outer, "outer");
    expect(await said(outer)).toEqual(["inner", "outer"]);
    expect(await said(late), "began before the merge").toEqual([]);
    expect(await said(await outer.branches.create("after"))).toEqual(["inner", "outer"]);
    expect(await said(coder)).toEqual([]);
    await planner.branches.merge("outer");
    expect(await said(coder)).toEqual(["inner", "outer"]);
    // Its base was merged into main, so it is merged there too.
    await say(late, "late");
    expect(await planner.branches.merge("late")).toMatchObject({ kind: "merged", into: "main" });
    expect(await said(coder)).toEqual(["inner", "outer", "late"]);
  });

  it("refuses invalid, reserved and existing names, and unknown bases [MEM-10]", async () => {
    const { planner } = await team();
    await planner.branches.create("run-42/planner");
    for (const name of ["main", "trace/x", "", "two words", "/x", "x/", "x//y", "a".repeat(200)]) {
      const error = await refusal(planner.branches.create(name));
      expect(error, name).toMatchObject({ code: "invalid_input", path: "branch" });
      expect(error.hint).not.toBe("");
    }
    expect(await refusal(planner.branches.create("run-42/planner"))).toMatchObject({
      code: "id_conflict",
    });
    const unknown = await refusal(planner.branches.use("run-42/planer"));
    expect(unknown).toMatchObject({ code: "unknown_branch" });
    expect(unknown.hint).toContain('"run-42/planner"');
    expect((await refusal(planner.branches.create("x", { from: "nowhere" }))).code).toBe(
      "unknown_branch",
    );
    expect((await refusal(planner.branches.merge("main"))).code).toBe("invalid_input");
    expect((await refusal(planner.branches.abandon("main", "No."))).code).toBe("invalid_input");
    expect((await refusal(planner.branches.diff("main"))).code).toBe("invalid_input");
    await planner.branches.abandon("run-42/planner", "Enough.");
    expect((await refusal(planner.branches.create("x", { from: "run-42/planner" }))).code).toBe(
      "branch_closed",
    );
  });

  it("lets receivers on other branches read what its handoffs reference [MEM-10]", async () => {
    const { hub, planner, coder } = await team();
    const branch = await planner.branches.create("try");
    const fact = await say(branch, "found");
    await branch.handoff({ to: "coder", task: "auth", intent: "Go on", refs: [fact.id] });
    const work = await take(coder);
    expect(await work.read(fact.id)).toEqual(fact);
    await work.complete({ summary: "done" });
    expect(await hub.verify()).toMatchObject({ problems: [] });
  });

  it("is created, merged or abandoned only once by concurrent callers [MEM-10]", async () => {
    const [here, there] = await twoHubs(store);
    const one = await here.agent("one", {});
    const two = await there.agent("two", {});
    const begun = await Promise.allSettled([
      one.branches.create("try"),
      two.branches.create("try"),
    ]);
    expect(begun.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await say(await one.branches.use("try"), "found");
    const ended = await Promise.allSettled([
      one.branches.merge("try"),
      two.branches.merge("try"),
      two.branches.abandon("try", "No."),
    ]);
    expect(ended.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const [{ state } = { state: "open" }] = (await here.branches.list()).items;
    expect(await said(two)).toEqual(state === "merged" ? ["found"] : []);
    expect(await here.verify()).toMatchObject({ problems: [] });
  });

  it("keeps every acknowledged write during a merge [MEM-10]", async () => {
    const [here, there] = await twoHubs(store);
    const one = await here.agent("one", {});
    const two = await there.agent("two", {});
    const branch = await two.branches.create("try").then(() => two.branches.use("try"));
    const kept: string[] = [];
    const writing = (async () => {
      for (let n = 0; ; n++) {
        try {
          kept.push((await say(branch, `${n}`)).content);
          await sleep(n % 10);
        } catch (error) {
          expect(error).toMatchObject({ code: "branch_closed" });
          return;
        }
      }
    })();
    await say(branch, "first");
    await until("a few writes", () => kept.length >= 3);
    // A merge that concurrent writers keep overtaking fails as retryable: retry it.
    const merge = (): Promise<MergeResult | undefined> =>
      one.branches.merge("try").catch((error: unknown) => {
        if (isBatonError(error) && error.code === "store_busy") return undefined;
        throw error;
      });
    expect(await until("the merge", merge)).toMatchObject({ kind: "merged" });
    await writing;
    expect(new Set(await said(one))).toEqual(new Set(["first", ...kept]));
    expect(await here.verify()).toMatchObject({ problems: [] });
  });

  it("detects conflicts with a branch that is merged concurrently [MEM-10]", async () => {
    const [here, there] = await twoHubs(store);
    const one = await here.agent("one", {});
    const two = await there.agent("two", {});
    const known = await say(one, "known");
    const relations = [{ kind: "supersedes" as const, to: known.id }];
    await say(await one.branches.create("a"), "a", { relations });
    await say(await two.branches.create("b"), "b", { relations });
    const outcomes = await Promise.all([one.branches.merge("a"), two.branches.merge("b")]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["conflicts", "merged"]);
  });
});

describe.each(STORES)("work on a branch on %s", (store) => {
  async function team() {
    const hub = await openFresh(store);
    const ada = await hub.agent("ada", {});
    const ben = await hub.agent("ben", {});
    const cyd = await hub.agent("cyd", {});
    await ada.branches.create("run-1");
    const draft = { to: "ben", task: "t", intent: "Try it", branch: "run-1" } as const;
    return { hub, ada, ben, cyd, draft };
  }

  it("stores its notes and result on the branch, and merges on completion [MEM-10]", async () => {
    const { hub, ada, ben, draft } = await team();
    await ada.handoff({ ...draft, mergeOnComplete: true });
    const work = await take(ben);
    expect(work.envelope).toMatchObject({ branch: "run-1", mergeOnComplete: true });
    const { memory } = await work.note({ type: "finding", content: "noted" });
    expect(memory.branch).toBe("run-1");
    expect(await said(ada)).toEqual([]);
    const settled = await work.complete({ summary: "It works." });
    expect(settled).toMatchObject({
      kind: "settled",
      delivery: { state: "completed" },
      merge: { kind: "merged", branch: "run-1", into: "main" },
    });
    expect(await said(ada)).toEqual(["noted"]);
    const result = (await ada.memories.recent({ type: "action" })).items.find(
      (each) => each.branch === "run-1",
    );
    expect(result?.content).toBe("It works.");
    expect(await hub.verify()).toMatchObject({ problems: [] });
  });

  it("leaves its branch open without mergeOnComplete [MEM-10]", async () => {
    const { hub, ada, ben, draft } = await team();
    await ada.handoff(draft);
    const settled = await (await take(ben)).complete({ summary: "It works." });
    expect(settled).not.toHaveProperty("merge");
    expect((await hub.branches.list({ state: "open" })).items).toHaveLength(1);
  });

  it("completes even if its branch has conflicts, and reports them [MEM-10]", async () => {
    const { hub, ada, ben, draft } = await team();
    const known = await say(ada, "known");
    await ada.branches.create("run-2");
    await ada.handoff({ ...draft, branch: "run-2", mergeOnComplete: true });
    const relations = [{ kind: "supersedes" as const, to: known.id }];
    const work = await take(ben);
    await work.note({ content: "ours", relations });
    await say(ada, "theirs", { relations });
    const settled = await work.complete();
    expect(settled).toMatchObject({
      kind: "settled",
      delivery: { state: "completed" },
      merge: { kind: "conflicts", branch: "run-2", conflicts: [{ about: known.id }] },
    });
    expect((await hub.branches.list({ state: "open", prefix: "run-2" })).items).toHaveLength(1);
  });

  it("merges when it replaces a memory that its handoff or a pin references [MEM-10]", async () => {
    const { hub, ada, ben } = await team();
    const plan = await say(ada, "plan");
    await ada.branches.create("run-2");
    const draft = { to: "ben", task: "t", intent: "Better it", branch: "run-2", refs: [plan.id] };
    await ada.handoff({ ...draft, mergeOnComplete: true });
    await ada.memories.pin(plan.id);
    const work = await take(ben);
    const relations = [{ kind: "supersedes" as const, to: plan.id }];
    await work.note({ type: "finding", content: "better plan", relations });
    expect(await work.complete()).toMatchObject({ merge: { kind: "merged", into: "main" } });
    expect((await ada.memories.pins()).map(({ content }) => content)).toEqual(["better plan"]);
    expect(await hub.verify()).toMatchObject({ problems: [] });
  });

  it("merges when the base replaced a memory its handoff or pin references [MEM-10]", async () => {
    const { ada, ben } = await team();
    const plan = await say(ada, "plan");
    const branch = await ada.branches.create("run-2");
    await branch.handoff({ to: "ben", task: "t", intent: "Look", refs: [plan.id] });
    await branch.memories.pin(plan.id);
    await say(ben, "other plan", { relations: [{ kind: "supersedes", to: plan.id }] });
    expect(await ada.branches.merge("run-2")).toMatchObject({ kind: "merged" });
  });

  it.each(["merged", "abandoned"] as const)(
    "accepts notes, settlements and handoffs after its branch was %s [MEM-10]",
    async (how) => {
      const { hub, ada, ben, cyd } = await team();
      const there = await ben.branches.use("run-1");
      const taken = async (task: string) => {
        await ada.handoff({ to: "ben", task, intent: "Try it", branch: "run-1" });
        return take(there, { task });
      };
      const works = {
        complete: await taken("complete"),
        decline: await taken("decline"),
        fail: await taken("fail"),
        clarify: await taken("clarify"),
        handoff: await taken("handoff"),
      };
      if (how === "merged") await ada.branches.merge("run-1");
      else await ada.branches.abandon("run-1", "No need any more.");
      const { memory } = await works.complete.note({ type: "finding", content: "late" });
      expect(memory.branch).toBe("main");
      expect(await said(ada)).toEqual(["late"]);
      expect(await works.complete.complete({ summary: "Done." })).toMatchObject({
        kind: "settled",
      });
      expect(await works.decline.decline("No.")).toMatchObject({ kind: "settled" });
      expect(await works.fail.fail({ message: "Broken.", class: "permanent" })).toMatchObject({
        kind: "settled",
      });
      expect(await works.clarify.clarify("Which?")).toMatchObject({ kind: "settled" });
      await works.handoff.handoff({ to: "cyd" });
      const { envelope } = await take(cyd);
      expect(envelope).not.toHaveProperty("branch");
      expect(await hub.verify()).toMatchObject({ problems: [] });
    },
  );

  it("continues on the branch its own was merged into, without merging that [MEM-10]", async () => {
    const { hub, ada, ben, cyd } = await team();
    await (await ada.branches.use("run-1")).branches.create("run-1/try");
    const draft = { to: "ben", task: "t", intent: "Try it", branch: "run-1/try" };
    await ada.handoff({ ...draft, mergeOnComplete: true });
    const work = await take(ben);
    await ada.branches.merge("run-1/try");
    expect((await work.note("late")).memory.branch).toBe("run-1");
    await work.handoff({ to: "cyd" });
    const next = await take(cyd);
    expect(next.envelope.branch).toBe("run-1");
    expect(await next.complete()).not.toHaveProperty("merge");
    expect((await hub.branches.list({ state: "open" })).items).toMatchObject([{ name: "run-1" }]);
  });

  it("merges a shared branch once; notes of the second holder go to main [MEM-10]", async () => {
    const { hub, ada, ben, cyd, draft } = await team();
    await ada.handoff({ ...draft, mergeOnComplete: true });
    await ada.handoff({ ...draft, to: "cyd", task: "u", mergeOnComplete: true });
    const [first, second] = [await take(ben), await take(cyd)];
    expect(await first.complete()).toMatchObject({ merge: { kind: "merged" } });
    const { kind, memory } = await second.note({ type: "finding", content: "second" });
    expect([kind, memory.branch]).toEqual(["noted", "main"]);
    expect(await said(ada)).toEqual(["second"]);
    expect(await second.complete()).toMatchObject({
      kind: "settled",
      merge: { kind: "refused", error: { code: "branch_closed" } },
    });
    expect(await hub.verify()).toMatchObject({ problems: [] });
  });

  it("completes on main when its branch was abandoned meanwhile [MEM-10]", async () => {
    const { hub, ada, ben, draft } = await team();
    await ada.handoff({ ...draft, mergeOnComplete: true });
    const work = await take(ben);
    await ada.branches.abandon("run-1", "No need any more.");
    const settled = await work.complete({ summary: "Done all the same." });
    expect(settled).toMatchObject({
      delivery: { state: "completed" },
      merge: { kind: "refused", error: { code: "branch_closed" } },
    });
    expect(
      (await ada.memories.recent({ type: "action" })).items.map(({ content }) => content),
    ).toContain("Done all the same.");
    expect(await hub.verify()).toMatchObject({ problems: [] });
  });

  it("stays on its branch when handed on, and merges when the line ends [MEM-10]", async () => {
    const { hub, ada, ben, cyd, draft } = await team();
    await ada.handoff({ ...draft, mergeOnComplete: true });
    await (await take(ben)).handoff({ to: "cyd" });
    expect((await hub.branches.list({ state: "open" })).items).toHaveLength(1);
    const work = await take(cyd);
    expect(work.envelope).toMatchObject({ branch: "run-1", mergeOnComplete: true });
    expect(await work.complete()).toMatchObject({ merge: { kind: "merged" } });
  });

  it("cannot be sent on an unknown or closed branch, or merge main [MEM-10]", async () => {
    const { ada, draft } = await team();
    expect((await refusal(ada.handoff({ ...draft, branch: "run-9" }))).code).toBe("unknown_branch");
    await ada.branches.abandon("run-1", "No.");
    expect((await refusal(ada.handoff(draft))).code).toBe("branch_closed");
    const { branch: _, ...lone } = draft;
    for (const on of [lone, { ...lone, branch: "main" }]) {
      expect(await refusal(ada.handoff({ ...on, mergeOnComplete: true }))).toMatchObject({
        code: "invalid_envelope",
        path: "mergeOnComplete",
      });
    }
    expect(await ada.handoff({ ...lone, branch: "main" })).toMatchObject({ kind: "sent" });
  });
});

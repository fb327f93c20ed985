/** Tests duplicate detection on write: the `known` option of remember(), and similar(). */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type {
  Agent,
  HubOptions,
  MemoryInput,
  RememberResult,
  SimilarMemory,
} from "../../../src/index.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import {
  freshAddress,
  open,
  openFresh,
  openTwo,
  refusal,
  STORES,
} from "../../support/hub/support.ts";

const verdicts = (known: readonly SimilarMemory[] | undefined) =>
  known?.map(({ memory, verdict }) => [memory.id, verdict]);

const DISTRACTORS = [
  "The nightly backup takes eleven minutes.",
  "Invoices are numbered per tenant.",
  "The login page asks for a second factor.",
  "The public API is versioned in its path.",
  "Nina reviews everything that touches payments.",
];

describe.each(STORES)("duplicate detection on %s", (store) => {
  async function team(options: HubOptions = {}) {
    const hub = await openFresh(store, options);
    const ada = await hub.agent("ada", { owner: "pat", role: "memory-keeper" });
    const ben = await hub.agent("ben", { owner: "pat" });
    await ben.remember(DISTRACTORS.map((content) => ({ content })));
    return { hub, ada, ben };
  }

  it("reports a memory that says the same, with suggested relations [MEM-9]", async () => {
    const { ada, ben } = await team();
    const first = await ben.remember({ content: "Passwords are hashed with argon2id." });
    const input = { content: "We hash passwords using argon2id.", tags: ["security"] };
    const written = await ada.remember(input, { known: "report" });
    expect(verdicts(written.known)).toEqual([[first.id, "same"]]);
    const [known] = written.known as [SimilarMemory];
    expect(known.memory).toEqual(await ada.memories.read(first.id));
    expect(known.similarity).toBeGreaterThan(0.8);
    expect(known.why).toMatch(/the same/);
    expect(known.offers.map(({ relation }) => relation)).toEqual([
      "continues-from",
      "supersedes",
      "corrects",
    ]);
    // The memory itself is written as usual.
    expect(await ada.memories.read(written.id)).toMatchObject({ ...input, agent: "ada" });
  });

  it("reports a contradicting memory, and suggests superseding it first [MEM-9]", async () => {
    const { ada, ben } = await team();
    const first = await ben.remember({ content: "Retries are enabled for uploads." });
    const { known } = await ada.remember(
      { content: "Retries are disabled for uploads." },
      { known: "report" },
    );
    expect(verdicts(known)).toEqual([[first.id, "contradicts"]]);
    expect(known?.[0]?.why).toBe('"enabled" versus "disabled"');
    expect(known?.[0]?.offers.map(({ relation }) => relation)).toEqual([
      "supersedes",
      "corrects",
      "continues-from",
    ]);
  });

  it.each([0, 1, 2])(
    "removes the duplicate from recall when suggestion %i is written [MEM-9]",
    async (which) => {
      const { ada, ben } = await team();
      const first = await ben.remember({ content: "The beta has 200 testers." });
      const second = await ada.remember(
        {
          content: "The beta has 350 testers.",
          id: `mem_${"0".repeat(8)}-0000-7000-8000-${"0".repeat(12)}`,
        },
        { known: "report" },
      );
      const offer = second.known?.[0]?.offers[which];
      const third = await ada.remember(offer?.input as MemoryInput, { known: "report" });
      expect(third.known).toEqual([]);
      const { items: hits } = await ada.recall("How many testers has the beta?");
      const holding = hits.map(({ memory }) => memory.id);
      expect(holding).toContain(third.id);
      expect(holding).not.toContain(second.id);
      expect(holding.includes(first.id)).toBe(offer?.relation === "continues-from");
    },
  );

  it("refuses a repetition in refuse mode, and writes nothing [MEM-9]", async () => {
    const { hub, ada, ben } = await team();
    const first = await ben.remember({ content: "The health check is at /healthz." });
    const before = await hub.deliveries.totals();
    const error = await refusal(
      ada.remember({ content: "/healthz serves the health check." }, { known: "refuse" }),
    );
    expect(error).toMatchObject({ code: "already_known", path: "content", retryable: false });
    expect(error.details).toMatchObject({
      known: [{ id: first.id, verdict: "same", input: 0 }],
    });
    expect(error.hint).toContain(first.id);
    expect(await hub.deliveries.totals()).toEqual(before);
    // New memories, and those that replace the known one, are written.
    await ada.remember({ content: "The mail queue is drained by hand." }, { known: "refuse" });
    const relations = [{ kind: "supersedes" as const, to: first.id }];
    const content = "/healthz serves the health check.";
    const newer = await ada.remember({ content, relations }, { known: "refuse" });
    expect(newer.known).toEqual([]);
  });

  it("reports and writes a contradiction in refuse mode [MEM-9]", async () => {
    const { ada, ben } = await team();
    const first = await ben.remember({ content: "The office opens at 8." });
    const second = await ada.remember({ content: "The office opens at 9." }, { known: "refuse" });
    expect(verdicts(second.known)).toEqual([[first.id, "contradicts"]]);
    expect((await ada.memories.read(second.id)).content).toBe("The office opens at 9.");
  });

  it("is off by default [MEM-9]", async () => {
    const { ada, ben } = await team();
    await ben.remember({ content: "Dates are stored as UTC." });
    const again = await ada.remember({ content: "Dates are stored as UTC." });
    expect("known" in again).toBe(false);
  });

  it("uses the mode of the hub, which a call can override [MEM-9]", async () => {
    const { ada, ben } = await team({ known: "refuse" });
    const content = "Dates are stored as UTC.";
    const first = await ben.remember({ content });
    expect((await refusal(ada.remember({ content }))).code).toBe("already_known");
    const reported = await ada.remember({ content }, { known: "report" });
    expect(verdicts(reported.known)).toEqual([[first.id, "same"]]);
    expect("known" in (await ada.remember({ content }, { known: "ignore" }))).toBe(false);
  });

  it("finds similar memories without writing [MEM-9]", async () => {
    const { hub, ada, ben } = await team();
    const first = await ben.remember({ content: "Logs are written as JSON lines." });
    const before = await hub.deliveries.totals();
    const known = await ada.memories.similar({ content: "We write logs as JSON lines." });
    expect(verdicts(known)).toEqual([[first.id, "same"]]);
    expect(await hub.deliveries.totals()).toEqual(before);
    // A suggested input can be written as it is.
    const continued = await ada.remember(known[0]?.offers[0]?.input as MemoryInput, {
      known: "refuse",
    });
    expect((await ada.memories.relations(continued.id)).items).toMatchObject([
      { kind: "continues-from", target: first.id },
    ]);
    expect(await ada.memories.similar({ content: "Traces are sampled." })).toEqual([]);
  });

  it.each(["continues-from", "supersedes", "corrects", "contradicts"] as const)(
    "does not report a memory that the input relates to by %s [MEM-9]",
    async (kind) => {
      const { ada, ben } = await team();
      const first = await ben.remember({ content: "Node 24 is required." });
      const content = "You need Node 24.";
      expect(await ada.memories.similar({ content })).toHaveLength(1);
      expect(await ada.memories.similar({ content, relations: [{ kind, to: first.id }] })).toEqual(
        [],
      );
      const relations = [{ kind: "supports" as const, to: first.id }];
      expect(await ada.memories.similar({ content, relations })).toHaveLength(1);
    },
  );

  it.each(["supersedes", "corrects"] as const)(
    "reports the current memory, not one that another record %s [MEM-9]",
    async (kind) => {
      const { ada, ben } = await team();
      const old = await ben.remember({ content: "The cache expires after 10 minutes." });
      const relations = [{ kind, to: old.id }];
      const content = "The cache expires after 60 minutes.";
      const now = await ben.remember({ content, relations });
      expect(verdicts(await ada.memories.similar({ content: old.content }))).toEqual([
        [now.id, "contradicts"],
      ]);
      expect(verdicts(await ada.memories.similar({ content }))).toEqual([[now.id, "same"]]);
      expect((await ada.memories.read(old.id)).content).toBe(old.content);
    },
  );

  it("ignores quarantined, expired and system memories, and traces [MEM-9]", async () => {
    const clock = new VirtualClock(1_000_000);
    const { ada, ben } = await team({ clock });
    const content = "The vendor accepted the new contract.";
    const lie = await ben.remember({ content });
    await ben.trace({ kind: "result", content });
    await ben.traces.flush();
    await ben.remember({ content, validUntil: 1_500_000 });
    await ben.handoff({ to: "ada", task: "contract", intent: content });
    expect(await ada.memories.similar({ content })).toHaveLength(2);
    await ada.memories.quarantine(lie.id, "made up");
    expect(await ada.memories.similar({ content })).toHaveLength(1);
    clock.advance(1_000_000);
    expect(await ada.memories.similar({ content })).toEqual([]);
  });

  it("reports only memories that the writer and its readers may see [MEM-9]", async () => {
    const { ada, ben } = await team();
    const content = "Hugo is the product owner.";
    const secret = await ben.remember({ content, scope: "agent" });
    expect(await ada.memories.similar({ content, scope: "agent" })).toEqual([]);
    expect(verdicts(await ben.memories.similar({ content, scope: "agent" }))).toEqual([
      [secret.id, "same"],
    ]);
    // ben's private memory does not make the fact known to the team.
    expect(await ben.memories.similar({ content })).toEqual([]);
    const shared = await ben.remember({ content }, { known: "refuse" });
    expect(verdicts(await ada.memories.similar({ content, scope: "agent" }))).toEqual([
      [shared.id, "same"],
    ]);
  });

  it("compares with what the branch sees [MEM-9]", async () => {
    const { ada, ben } = await team();
    const content = "Pagination uses cursors.";
    const side = await ben.branches.create("run-1");
    const first = await side.remember({ content });
    expect(await ada.memories.similar({ content })).toEqual([]);
    expect(verdicts(await (await ada.branches.use("run-1")).memories.similar({ content }))).toEqual(
      [[first.id, "same"]],
    );
    await (await ada.branches.use("run-1")).remember(
      { content: "Queues are ordered." },
      { known: "refuse" },
    );
    await ada.remember({ content }, { known: "refuse" });
  });

  it("finds a memory as soon as another agent's write returns [MEM-9]", async () => {
    const [one, two] = await openTwo(store);
    const ada = await one.agent("ada", {});
    const ben = await two.agent("ben", {});
    for (let n = 0; n < 5; n++) {
      const content = `Worker ${n} drains queue ${n * 7}.`;
      const { id } = await ben.remember({ content });
      expect(verdicts(await ada.memories.similar({ content }))).toEqual([[id, "same"]]);
    }
  });

  it("reports duplicates for each memory of a batch, also within it [MEM-9]", async () => {
    const { ada, ben } = await team();
    const first = await ben.remember({ content: "Emma speaks French and Italian." });
    const batch: MemoryInput[] = [
      { content: "Emma can speak Italian and French." },
      { content: "The disk on build-3 is full." },
      { content: "On build-3 the disk is full." },
      { content: "The disk on build-3 is empty." },
    ];
    const written = await ada.remember(batch, { known: "report" });
    const [, full, again] = written as [
      RememberResult,
      RememberResult,
      RememberResult,
      RememberResult,
    ];
    expect(written.map(({ known }) => verdicts(known))).toEqual([
      [[first.id, "same"]],
      [],
      [[full.id, "same"]],
      [
        [full.id, "contradicts"],
        [again.id, "contradicts"],
      ],
    ]);
  });

  it("refuses a whole batch for one repetition, stored or within the batch [MEM-9]", async () => {
    const { hub, ada, ben } = await team();
    await ben.remember({ content: "Ivan's car is red." });
    const before = await hub.deliveries.totals();
    const fresh = { content: "Lines end with LF." };
    const stored = await refusal(
      ada.remember([fresh, { content: "The car of Ivan is red." }], { known: "refuse" }),
    );
    expect(stored).toMatchObject({ code: "already_known", path: "[1].content" });
    const twins = await refusal(ada.remember([fresh, fresh], { known: "refuse" }));
    expect(twins).toMatchObject({ code: "already_known", path: "[1].content" });
    expect(twins.details).toEqual({ known: [{ verdict: "same", input: 1, twin: 0 }] });
    expect(await hub.deliveries.totals()).toEqual(before);
  });

  it("allows a retry with the same id [MEM-9]", async () => {
    const { ada } = await team();
    const id = `mem_${"0".repeat(8)}-0000-7000-8000-${"1".repeat(12)}`;
    const input = { id, content: "Greta is afraid of dogs." };
    const first = await ada.remember(input, { known: "refuse" });
    const second = await ada.remember(input, { known: "refuse" });
    expect(second.seq).toBe(first.seq);
    expect(second.known).toEqual([]);
  });

  it("admits one of several concurrent writers of one text, in two hubs [MEM-9]", async () => {
    const [one, two] = await openTwo(store);
    await one.agent("ada", {});
    const writers = await Promise.all([one, two, one, two].map((hub) => hub.agent("ada")));
    const write = (agent: Agent, content: string) =>
      agent.remember({ content }, { known: "refuse" }).then(
        () => "written",
        (error: { code?: string }) => error.code,
      );
    const outcomes = await Promise.all(
      writers.map((agent) => write(agent, "Refunds need approval by finance.")),
    );
    expect(outcomes.sort()).toEqual(["already_known", "already_known", "already_known", "written"]);
    // Writers of different texts do not block each other.
    const topics = [
      "Lena likes jazz.",
      "Sockets leak on macOS.",
      "Beds are made daily.",
      "Rust 1.90 is out.",
    ];
    const apart = await Promise.all(
      topics.map((content, n) => write(writers[n] as Agent, content)),
    );
    expect(apart).toEqual(["written", "written", "written", "written"]);
  });

  it("admits all concurrent writers of different texts in one hub [MEM-9]", async () => {
    const { ada } = await team();
    const written = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        ada.remember({ content: `Shard s${n} holds tenant t${n * 7}.` }, { known: "refuse" }),
      ),
    );
    expect(new Set(written.map(({ seq }) => seq)).size).toBe(60);
  });

  it("does not match short notes of another task, or questions [MEM-9]", async () => {
    const { ada, ben } = await team();
    await ben.remember({ content: "Tests pass.", task: "auth" });
    expect(await ada.memories.similar({ content: "Tests pass.", task: "mail" })).toEqual([]);
    expect(await ada.memories.similar({ content: "Tests pass.", task: "auth" })).toHaveLength(1);
    await ben.remember({ content: "Do we use REST for the partner API?", type: "question" });
    expect(await ada.memories.similar({ content: "We use REST for the partner API." })).toEqual([]);
  });

  it("matches a long text, and nothing for a text without words [MEM-9]", async () => {
    const { ada, ben } = await team();
    const long = Array.from(
      { length: 600 },
      (_, n) => `Step ${n} moves shard ${n * 31} to host h${n}.`,
    ).join(" ");
    const first = await ben.remember({ content: long });
    expect(verdicts(await ada.memories.similar({ content: long }))).toEqual([[first.id, "same"]]);
    expect(await ada.memories.similar({ content: "…!" })).toEqual([]);
  });

  it("refuses an unknown mode and invalid input [MEM-9]", async () => {
    const { ada } = await team();
    const wrong = await refusal(
      ada.remember({ content: "x" }, { known: "tell" as unknown as "report" }),
    );
    expect(wrong).toMatchObject({ code: "invalid_input", path: "known" });
    expect((await refusal(ada.memories.similar({ content: "" }))).code).toBe("invalid_memory");
    expect((await refusal(ada.remember([], { known: "report" }))).code).toBe("invalid_input");
    const empty = await refusal(
      ada.remember([{ content: "fine" }, { content: "" }], { known: "refuse" }),
    );
    expect(empty).toMatchObject({ code: "invalid_memory", path: "[1].content" });
  });
});

it("refuses to open a hub with an unknown value of the known option [MEM-9]", async () => {
  const options = { known: "loud" } as unknown as HubOptions;
  const address = freshAddress();
  const error = await refusal(open(address, options));
  expect(error).toMatchObject({ code: "invalid_input", path: "known" });
  expect(existsSync(address.slice("sqlite:".length))).toBe(false);
});

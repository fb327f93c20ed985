/**
 * Tests secret detection: secrets are found before anything is stored or hashed, and redacted,
 * refused or allowed by the mode of the hub and the workspace. Every call that takes a text gets a
 * secret, and then the whole store is searched for it.
 */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { Agent, Hub, HubOptions } from "../../../src/index.ts";
import type { SecretMode } from "../../../src/workspace/workspace.ts";
import {
  contents,
  freshAddress,
  open,
  openFresh,
  openTwo,
  refusal,
  STORES,
  take,
} from "../../support/hub/support.ts";

/** Counts the tokens, which are made up and assembled so that this file contains no key. */
let drawn = 0;
const token = (): string =>
  `gh${"p_"}${`Zq7mX2vK9rT4wB6nL1cD8hF3jS5gP0yA${++drawn}`.padEnd(36, "eR3")}`;
const MARK = "[redacted: GitHub token]";

async function team(hub: Hub) {
  return {
    ada: await hub.agent("ada", { role: "planner" }),
    ben: await hub.agent("ben", { role: "executor" }),
    cleo: await hub.agent("cleo", { role: "coordinator" }),
  };
}

/** Returns all rows and events of the workspace as text, without the export's header and footer. */
async function everything(hub: Hub): Promise<string> {
  let text = "";
  for await (const line of hub.archive.export()) {
    if (!/^\{"kind":"(?:header|footer)"/.test(line)) text += line;
  }
  return text + JSON.stringify([(await hub.events.list({ after: 0, limit: 500 })).items]);
}

describe.each(STORES)("a secret in the input on %s", (store) => {
  it("is redacted before it is stored, and the result says where it was [OPS-6]", async () => {
    const hub = await openFresh(store);
    const { ada, ben } = await team(hub);
    const secret = token();
    const memory = await ada.remember({
      content: `Push with ${secret} to the mirror`,
      data: { db: { url: "postgres://app:hx8Kq2vLp9@db/app" } },
    });
    expect(memory.content).toBe(`Push with ${MARK} to the mirror`);
    expect(memory.data).toEqual({
      db: { url: "postgres://app:[redacted: password in an address]@db/app" },
    });
    expect(memory.secrets).toEqual([
      { kind: "GitHub token", path: "content" },
      { kind: "password in an address", path: "data.db.url" },
    ]);
    const sent = await ada.handoff({
      to: "ben",
      intent: `Rotate ${secret}`,
      task: "rotate",
      constraints: [`Never print ${secret}`],
      payload: { type: "job", data: { token: secret } },
    });
    expect(sent.secrets.map(({ path }) => path)).toEqual([
      "intent",
      "constraints[0]",
      "payload.data.token",
    ]);
    expect(sent.envelope.intent).toBe(`Rotate ${MARK}`);
    const work = await take(ben);
    const noted = await work.note(`It was ${secret}`);
    expect(noted.secrets).toEqual([{ kind: "GitHub token", path: "content" }]);
    const settled = await work.complete({ summary: `Rotated ${secret}` });
    expect(settled).toMatchObject({
      kind: "settled",
      secrets: [{ kind: "GitHub token", path: "result.summary" }],
    });
    expect(await everything(hub)).not.toContain(secret.slice(4));
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("is refused with kind and path in refuse mode, and nothing is stored [OPS-6]", async () => {
    const hub = await openFresh(store, { secrets: "refuse" });
    const { ada, ben } = await team(hub);
    await ada.handoff({ to: "ben", intent: "Rotate the keys", task: "rotate" });
    const work = await take(ben);
    const before = await contents(hub);
    const secret = token();
    const refused: [path: string, attempt: () => Promise<unknown>][] = [
      ["content", () => ada.remember({ content: `Use ${secret}` })],
      [
        "[1].data.key",
        () => ada.remember([{ content: "a" }, { content: "b", data: { key: secret } }]),
      ],
      ["data.…", () => ada.remember({ content: "a", data: { [secret]: 1 } })],
      ["output", () => ada.trace({ kind: "tool", name: "sh", output: secret })],
      ["state", () => ada.handoff({ to: "ben", intent: "Go on", state: secret })],
      ["content", () => work.note(secret)],
      ["result.outputs.log", () => work.complete({ outputs: { log: secret } })],
      ["failure.message", () => work.fail({ message: secret })],
      ["question", () => work.clarify(`Is it ${secret}?`)],
      ["reason", () => work.decline(`I will not use ${secret}`)],
      ["document", () => ada.memories.importMarkdown(`# Facts\n\n- Use ${secret}\n`)],
    ];
    for (const [path, attempt] of refused) {
      const error = await refusal(attempt());
      expect(error).toMatchObject({ code: "secret_found", path });
      expect(error.message).toContain("GitHub token");
      expect(`${JSON.stringify(error)} ${error.stack}`).not.toContain(secret.slice(4));
    }
    expect((await refusal(ada.traces.flush())).code, "what was traced").toBe("secret_found");
    expect(await contents(hub)).toEqual(before);
    expect(await everything(hub)).not.toContain(secret.slice(4));
    expect((await work.complete({ summary: "They are in the vault" })).kind).toBe("settled");
  });

  it("follows the stricter mode of the hub and the workspace [OPS-6]", async () => {
    const modes: [
      hub: SecretMode | undefined,
      workspace: SecretMode | undefined,
      counts: SecretMode,
    ][] = [
      [undefined, undefined, "redact"],
      [undefined, "allow", "allow"],
      [undefined, "refuse", "refuse"],
      ["allow", undefined, "allow"],
      ["allow", "redact", "redact"],
      ["allow", "refuse", "refuse"],
      ["redact", "allow", "redact"],
      ["refuse", "allow", "refuse"],
    ];
    for (const [own, shared, counts] of modes) {
      const options: HubOptions = own === undefined ? {} : { secrets: own };
      const [one, two] = await openTwo(store, options);
      if (shared !== undefined)
        expect((await two.settings.update({ secrets: shared })).secrets).toBe(counts);
      expect((await one.settings.get()).secrets).toBe(counts);
      const { ada } = await team(one);
      const secret = token();
      const content = await ada.remember({ content: secret }).then(
        (memory) => memory.content,
        (error) => error.code,
      );
      const expected = { allow: secret, redact: MARK, refuse: "secret_found" };
      expect(content, `${own} and ${shared}`).toBe(expected[counts]);
    }
  });

  it("does not affect retries by id or idempotency key [OPS-6]", async () => {
    const hub = await openFresh(store);
    const { ada, ben } = await team(hub);
    const secret = token();
    const first = await ada.remember({ content: `Use ${secret}` });
    const input = { id: first.id, content: `Use ${secret}` };
    const again = await ada.remember(input);
    expect([again.seq, again.digest]).toEqual([first.seq, first.digest]);
    // Writing the redacted text under the same id is a retry as well.
    expect((await ada.remember({ id: first.id, content: first.content })).seq).toBe(first.seq);
    const draft = { to: "ben", intent: `Use ${secret}`, task: "use", key: "once" };
    const sent = await ada.handoff(draft);
    const repeated = await ada.handoff(draft);
    expect([repeated.joined, repeated.digest]).toEqual(["repeated", sent.digest]);
    expect((await ben.deliveries.waiting()).items).toHaveLength(1);
  });

  it("is reported with kind, path, time and agent, but without its value [OPS-6]", async () => {
    const hub = await openFresh(store);
    const { ada, ben } = await team(hub);
    expect(await hub.memories.secretsFound()).toEqual({ total: 0, byKind: {}, found: [] });
    const secret = token();
    const memory = await ada.remember({
      content: "x",
      data: { steps: [{ run: `curl ${secret}` }] },
    });
    const own = await ben.remember({ content: `PASSWORD=hx8Kq2vLp9`, scope: "agent" });
    const report = await hub.memories.secretsFound();
    expect(report.byKind).toEqual({ "GitHub token": 1, password: 1 });
    expect(report.found).toEqual(
      expect.arrayContaining([
        {
          kind: "GitHub token",
          path: "data.steps[0].run",
          in: { kind: "memory", id: memory.id },
          at: memory.storedAt,
          by: "ada",
        },
        {
          kind: "password",
          in: { kind: "memory", id: own.id },
          at: own.storedAt,
          by: "ben",
        },
      ]),
    );
    await ada.handoff({ to: "ben", intent: `Use ${secret}`, task: "use" });
    const after = await hub.memories.secretsFound({ limit: 1 });
    expect(after.found).toHaveLength(1);
    expect(after.total).toBeGreaterThan(report.total);
    expect((await hub.memories.secretsFound({ since: Date.now() + 60_000 })).total).toBe(0);
    expect(JSON.stringify(await hub.memories.secretsFound())).not.toContain(secret.slice(4));
  });
});

/** A call that takes text; the text contains the secret. */
type CallWithSecret = (place: {
  hub: Hub;
  ada: Agent;
  ben: Agent;
  cleo: Agent;
  secret: string;
}) => Promise<unknown>;

const CALLS_WITH_SECRET: Readonly<Record<string, CallWithSecret>> = {
  "an agent's profile": ({ hub, secret }) => hub.agent("dan", { description: `Has ${secret}` }),
  "a role's profile": ({ hub, secret }) =>
    hub.settings.update({ profiles: { tester: { tags: { [secret]: 2 } } } }),
  "a failure rule": ({ hub, secret }) =>
    hub.failures.setRule("r", { then: { abort: true }, reason: `Has ${secret}` }),
  "a memory's tags and concepts": ({ ada, secret }) =>
    ada.remember({ content: "x", tags: [secret], concepts: [`the ${secret}`] }),
  "a private memory": ({ ada, secret }) => ada.remember({ content: secret, scope: "agent" }),
  "an imported document": ({ ada, secret }) =>
    ada.memories.importMarkdown(`# Facts\n\n- Use ${secret}\n`),
  "a prompt, a tool call and a result": async ({ ada, secret }) => {
    await ada.trace([
      { kind: "prompt", content: `Log in with ${secret}` },
      {
        kind: "tool",
        name: "http",
        input: { headers: [`token ${secret}`] },
        output: { [secret]: secret },
      },
      { kind: "result", content: `It was ${secret}`, ok: false },
    ]);
  },
  "every part of a draft": ({ ada, secret }) =>
    ada.handoff({
      to: "ben",
      intent: `i ${secret}`,
      task: "draft",
      state: `s ${secret}`,
      done: [`d ${secret}`],
      next: [`n ${secret}`],
      doNotRedo: [`r ${secret}`],
      blocked: [{ what: `b ${secret}`, on: `o ${secret}` }],
      constraints: [{ rule: `c ${secret}` }],
      decisions: [{ question: `q ${secret}`, options: [`o ${secret}`] }],
      expects: [{ name: "out", type: "text", criteria: [`e ${secret}`] }],
      history: [{ agent: "ada", did: `h ${secret}`, why: `w ${secret}` }],
      metadata: { note: `m ${secret}` },
      payload: { type: "p", data: { deep: [{ a: secret }] } },
    }),
  "a long intent": ({ ada, secret }) =>
    ada.handoff({ to: "ben", intent: `${"long ".repeat(600)}${secret}`, task: "long" }),
  "a note, a reservation and a result": async ({ ada, ben, secret }) => {
    await ada.handoff({ to: "ben", intent: "Do it", task: "noted" });
    const work = await take(ben, { task: "noted" });
    await work.note({ content: secret, data: { a: [secret] } });
    await work.reservations.set(["src/**"], { note: `for ${secret}` });
    await work.complete({ summary: secret, outputs: { a: { b: secret } }, outcome: "ok" });
  },
  "a question and its answer": async ({ ada, ben, secret }) => {
    const sent = await ada.handoff({ to: "ben", intent: "Do it", task: "asked" });
    await (await take(ben, { task: "asked" })).clarify(`Is it ${secret}?`);
    await ada.questions.answer(sent.id, `It is ${secret}`);
  },
  "a failure, a redrive and a discard": async ({ ada, ben, secret }) => {
    const policy = { attempts: 1, exhausted: "park" as const };
    const sent = await ada.handoff({ to: "ben", intent: "Do it", task: "failed", policy });
    await (await take(ben, { task: "failed" })).fail({
      message: `No: ${secret}`,
      class: "permanent",
      hints: [`try ${secret}`],
    });
    await ada.deadLetters.redrive(sent.id, {
      state: `s ${secret}`,
      payload: { type: "p", data: { s: secret } },
    });
    await (await take(ben, { task: "failed" })).fail({ message: secret, class: "permanent" });
    await ada.deadLetters.discard(sent.id, `Because of ${secret}`);
  },
  "a decision about a failure": async ({ ada, ben, cleo, secret }) => {
    await ada.handoff({ to: "ben", intent: "Do it", task: "decided" });
    await (await take(ben, { task: "decided" })).fail({ message: "no", class: "permanent" });
    await cleo.failures.decide(await take(cleo, { task: "decided" }), {
      decision: "abort",
      reason: `Because of ${secret}`,
    });
  },
  "a declined delivery": async ({ ada, ben, secret }) => {
    await ada.handoff({
      to: "ben",
      intent: "Do it",
      task: "declined",
      policy: { exhausted: "park" },
    });
    await (await take(ben, { task: "declined" })).decline(`I have ${secret}`);
  },
  "a cancellation": async ({ ada, secret }) => {
    const sent = await ada.handoff({ to: "ben", intent: "Do it", task: "cancelled" });
    await ada.deliveries.cancel(sent.id, `Because of ${secret}`);
    const other = await ada.handoff({ to: "ben", intent: "Do it", task: "withdrawn" });
    await other.cancel(`Because of ${secret}`);
  },
  "a person's approval, rejection, edit and reply": async ({ ada, ben, secret }) => {
    const expects = [{ name: "ok", type: "approval" }];
    const asked = (task: string) => ada.handoff({ to: "ben", intent: "Look", task, expects });
    await ben.approvals.approve((await asked("p1")).id, { comment: `c ${secret}` });
    await ben.approvals.reject((await asked("p2")).id, `r ${secret}`);
    await ben.approvals.edit((await asked("p3")).id, {
      state: `s ${secret}`,
      comment: `c ${secret}`,
    });
    const text = await ada.handoff({ to: "ben", intent: "Say", task: "p4" });
    await ben.approvals.reply(text.id, `t ${secret}`);
  },
  "a handoff of held work": async ({ ada, ben, secret }) => {
    await ada.handoff({ to: "ben", intent: "Do it", task: "on" });
    await (await take(ben, { task: "on" })).handoff(
      { to: "ada", state: secret, next: [secret] },
      { completes: { summary: `s ${secret}`, outputs: { a: secret } } },
    );
  },
  "a release from the ledger": async ({ ada, secret }) => {
    const constraints = [{ id: "con-a", rule: "Be quick" }];
    await ada.handoff({ to: "ben", intent: "Do it", task: "ledger", constraints });
    await ada.tasks.releaseItem("ledger", { id: "con-a", reason: `Because of ${secret}` });
  },
  "the shared context": async ({ hub, cleo, ada, secret }) => {
    await hub.settings.update({ keepers: ["coordinator"] });
    const item = { section: "conventions", key: "keys", rule: `Use ${secret}` } as const;
    const { version } = await cleo.context.set(item);
    await cleo.context.retire("conventions", "keys", {
      basedOn: version,
      reason: `Because of ${secret}`,
    });
    await cleo.context.decide({
      key: "mirror",
      question: `Which of ${secret}?`,
      choice: `${secret}`,
      reasons: [`r ${secret}`],
      rejected: [{ option: `o ${secret}`, why: `w ${secret}` }],
    });
    await cleo.context.project([
      { section: "project", key: "branch", content: `On ${secret}`, data: { a: [secret] } },
    ]);
    const rule = `${"x ".repeat(300)}${secret}`;
    await ada.context.propose(
      { section: "conventions", key: "more", rule },
      { reason: `Because of ${secret}` },
    );
  },
  "the task queue": async ({ ada, secret }) => {
    await ada.tasks.add({ task: "t1", to: "ben", intent: `Do ${secret}` });
    await ada.tasks.cancel("t1", `Because of ${secret}`);
    await ada.tasks.reopen("t1", `Because of ${secret}`);
    await ada.tasks.close("t1", { as: "failed", reason: `Because of ${secret}` });
  },
  "quarantine, lifting and redaction": async ({ ada, secret }) => {
    const { id } = await ada.remember({ content: "wrong" });
    await ada.memories.quarantine(id, `Because of ${secret}`);
    await ada.memories.lift(id, `Because of ${secret}`);
    await ada.memories.redact({ ids: [id] }, `Because of ${secret}`);
  },
  "an abandoned branch": async ({ ada, secret }) => {
    await ada.branches.create("try-1");
    await ada.branches.abandon("try-1", `Because of ${secret}`);
  },
  "a receipt": async ({ ada, ben, secret }) => {
    await ada.handoff({ to: "ben", intent: "Do it", task: "receipt", receipt: true });
    const receipt = () => ({ goal: `Do ${secret}`, firstStep: `Use ${secret}` });
    const work = await ben.accept({ task: "receipt", receipt });
    expect(work).toBeDefined();
  },
  "the result of an effect": async ({ ada, secret }) => {
    const done = await ada.effects.run("deploy", () => ({ url: `https://x/${secret}` }));
    expect(done).toMatchObject({ kind: "done", result: { url: `https://x/${secret}` } });
    expect(await ada.effects.run("deploy", () => "not again")).toMatchObject({
      result: { url: `https://x/${MARK}` },
      again: true,
    });
  },
};

describe("a secret in any call that takes text", () => {
  let hub: Hub;
  beforeEach(async () => {
    hub = await openFresh("memory");
  });

  it.each(Object.entries(CALLS_WITH_SECRET))(
    "is not stored from %s [OPS-6]",
    async (_what, call) => {
      const secret = token();
      await call({ hub, ...(await team(hub)), secret });
      const held = await everything(hub);
      // Not even a part: a truncated secret is no longer recognized as one.
      for (let i = 4; i + 8 <= secret.length; i++)
        expect(held).not.toContain(secret.slice(i, i + 8));
      expect((await hub.verify()).problems).toEqual([]);
    },
  );
});

describe("secret redaction", () => {
  it("leaves no secret in any file of the store [OPS-6]", async () => {
    const address = freshAddress("sqlite");
    const hub = await open(address);
    const { ada, ben } = await team(hub);
    const secret = token();
    await ada.remember({ content: `Use ${secret}` });
    await ada.trace({ kind: "tool", name: "sh", output: secret });
    await ada.handoff({ to: "ben", intent: `Use ${secret}`, task: "x" });
    await (await take(ben)).complete({ summary: secret });
    await ada.traces.flush();
    const folder = dirname(address.slice("sqlite:".length));
    for (const file of readdirSync(folder)) {
      expect(readFileSync(join(folder, file)).includes(secret.slice(4)), file).toBe(false);
    }
    await hub.close();
    for (const file of readdirSync(folder)) {
      expect(readFileSync(join(folder, file)).includes(secret.slice(4)), file).toBe(false);
    }
  });

  it("keeps the order of concurrent writes [OPS-6]", async () => {
    const hub = await openFresh("sqlite");
    const { ada } = await team(hub);
    const said = Array.from({ length: 12 }, (_, i) => `${i} ${i % 3 === 1 ? token() : "plain"}`);
    await Promise.all(said.map((content) => ada.remember({ content })));
    const steps = said.map((content) => ada.trace({ kind: "result", content }));
    await ada.traces.flush();
    const order = (contents: readonly string[]) =>
      contents.map((content) => Number(/\b\d+\b/.exec(content)?.[0]));
    const stored = (await ada.memories.recent({ limit: 12 })).items;
    expect(order(stored.map(({ content }) => content)).reverse()).toEqual(said.map((_, i) => i));
    expect(order((await ada.traces.list()).items.map(({ content }) => content))).toEqual(
      said.map((_, i) => i),
    );
    expect((await Promise.all(steps)).map(({ secrets = [] }) => secrets.length)).toEqual(
      said.map((_, i) => (i % 3 === 1 ? 1 : 0)),
    );
  });

  it("does not hide a secret from lint, which can refuse the handoff [OPS-6 ENV-12]", async () => {
    const hub = await openFresh("memory");
    const { ada } = await team(hub);
    const draft = { to: "ben", intent: "Rotate the keys of the mirror", state: `It is ${token()}` };
    const { findings } = await ada.handoffs.lint(draft);
    expect(findings.filter(({ rule }) => rule === "secret")).toMatchObject([{ path: "state" }]);
    await hub.settings.update({ lint: { secret: "refuse" } });
    expect(await refusal(ada.handoff(draft))).toMatchObject({
      code: "lint_refused",
      path: "state",
    });
  });

  it.each([{ secrets: "hide" }, { secrets: true }, { secrets: null }])(
    "refuses an unknown mode: %o [OPS-6]",
    async (options) => {
      const error = await refusal(openFresh("memory", options as unknown as HubOptions));
      expect(error).toMatchObject({ code: "invalid_input", path: "secrets" });
      const hub = await openFresh("memory");
      const mode = options.secrets as unknown as SecretMode;
      expect((await refusal(hub.settings.update({ secrets: mode }))).path).toBe("secrets");
    },
  );
});

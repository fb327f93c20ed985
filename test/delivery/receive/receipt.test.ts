/** Receipts: on request, the receiver confirms goal, first step and constraints when it accepts. */

import { describe, expect, it } from "vitest";
import type { Envelope, Receipt } from "../../../src/index.ts";
import { contents, openFresh, refusal, STORES, take } from "../../support/hub/support.ts";
import { present } from "../../support/present.ts";

const DRAFT = {
  to: "coder",
  task: "t",
  intent: "Refactor auth",
  next: ["Extract validateToken()", "Then the tests"],
  constraints: [
    { id: "api", rule: "Keep the API", level: "must" as const },
    { id: "fixtures", rule: "No fixtures", level: "must" as const },
    { id: "style", rule: "Short functions", level: "should" as const },
  ],
};
const GOOD: Receipt = {
  goal: "Auth is refactored",
  firstStep: "Extract validateToken()",
  constraints: ["fixtures", "api"],
};

describe.each(STORES)("a receipt on %s", (store) => {
  async function team(draft: object = { receipt: true }) {
    const hub = await openFresh(store);
    const planner = await hub.agent("planner", {});
    const coder = await hub.agent("coder", {});
    const sent = await planner.handoff({ ...DRAFT, ...draft });
    return { hub, planner, coder, sent };
  }

  it("is required where the envelope says so; without it nothing is claimed [DLV-11]", async () => {
    const { hub, coder, sent } = await team();
    const before = await contents(hub);
    const refused = await refusal(coder.accept());
    expect(refused).toMatchObject({
      code: "receipt_required",
      path: "receipt",
      details: {
        goal: "Refactor auth",
        firstStep: "Extract validateToken()",
        constraints: ["api", "fixtures"],
      },
    });
    expect(refused.hint).toContain("receipt: {");
    expect(await contents(hub)).toEqual(before);
    expect(await sent.status()).toMatchObject({ state: "ready", attempt: 0 });
  });

  it("is stored with the acceptance [DLV-11]", async () => {
    const { hub, coder } = await team();
    const work = await take(coder, { receipt: GOOD });
    expect((await coder.memories.read(present(work.delivery.acceptedBy))).data).toEqual({
      receipt: GOOD,
    });
    await work.complete();
    expect((await hub.verify()).problems).toEqual([]);
  });

  it("can be computed from the envelope [DLV-11]", async () => {
    const { coder, sent } = await team();
    const seen: Envelope[] = [];
    const work = await take(coder, {
      receipt: (envelope) => {
        seen.push(envelope);
        const musts = envelope.constraints.filter(({ level }) => level === "must");
        return {
          goal: envelope.intent,
          firstStep: envelope.next[0] ?? "",
          constraints: musts.map(({ id }) => id),
        };
      },
    });
    expect(seen[0]).toEqual(sent.envelope);
    expect((await coder.memories.read(present(work.delivery.acceptedBy))).data).toMatchObject({
      receipt: { goal: "Refactor auth", constraints: ["api", "fixtures"] },
    });
  });

  it.each([
    ["a must is missing", { constraints: ["api"] }, ["required fixtures"]],
    ["every must is missing", { constraints: [] }, ["required api", "required fixtures"]],
    [
      "a must is spelled differently",
      { constraints: ["API", "fixtures"] },
      ["required api", "unknown API"],
    ],
    [
      "a should is listed as a must",
      { constraints: ["api", "fixtures", "style"] },
      ["unknown style"],
    ],
  ])("is refused with every violation when %s [DLV-11]", async (_, flaw, faults) => {
    const { hub, coder, sent } = await team();
    const before = await contents(hub);
    const refused = await refusal(coder.accept({ receipt: { ...GOOD, ...flaw } }));
    expect(refused).toMatchObject({ code: "receipt_required", path: "receipt.constraints" });
    const named = refused.violations.map(
      ({ rule, message }) => `${rule} ${/"([^"]*)"/.exec(message)?.[1]}`,
    );
    expect(named).toEqual(faults);
    expect(await contents(hub)).toEqual(before);
    expect((await sent.status()).attempt).toBe(0);
  });

  it.each([
    ["goal", { goal: "" }],
    ["firstStep", { firstStep: "" }],
    ["firstStep", { firstStep: undefined }],
    ["constraints", { constraints: "api" }],
    ["extra", { extra: 1 }],
  ])("is refused with an invalid %s [DLV-11]", async (field, flaw) => {
    const { hub, coder } = await team();
    const before = await contents(hub);
    const receipt = { ...GOOD, ...flaw } as Receipt;
    expect(await refusal(coder.accept({ receipt }))).toMatchObject({
      code: "invalid_input",
      path: `receipt.${field}`,
    });
    expect(await contents(hub)).toEqual(before);
  });

  it("is checked for an offer too, which stays claimed when it is refused [DLV-11]", async () => {
    const { coder, sent } = await team();
    const { value: offer } = await coder.inbox({ wait: false }).next();
    const refused = await refusal(offer?.accept() ?? Promise.resolve());
    expect(refused.code).toBe("receipt_required");
    expect((await sent.status()).state).toBe("claimed");
    const short = { ...GOOD, constraints: ["api"] };
    expect((await refusal(offer?.accept({ receipt: short }) ?? Promise.resolve())).code).toBe(
      "receipt_required",
    );
    const work = await offer?.accept({ receipt: GOOD });
    expect(work?.id).toBe(sent.id);
    expect((await coder.memories.read(work?.delivery.acceptedBy ?? "")).data).toEqual({
      receipt: GOOD,
    });
  });

  it("must include constraints that the sender added after the offer [DLV-11 ENV-11]", async () => {
    const { planner, coder } = await team();
    const { value: offer } = await coder.inbox({ wait: false }).next();
    const constraints = [...DRAFT.constraints, { id: "speed", rule: "Be quick" }];
    await planner.handoff({ ...DRAFT, receipt: true, constraints });
    const refused = await refusal(offer?.accept({ receipt: GOOD }) ?? Promise.resolve());
    expect(refused.violations.map(({ message }) => message)).toEqual([
      expect.stringContaining('"speed" is missing'),
    ]);
    expect(offer?.envelope.constraints).toHaveLength(4);
    const full = { ...GOOD, constraints: ["api", "fixtures", "speed"] };
    expect((await offer?.accept({ receipt: full }))?.envelope.constraints).toHaveLength(4);
  });

  it("is not required by default, and is stored when given [DLV-11]", async () => {
    const { coder, planner } = await team({});
    const work = await take(coder);
    expect((await coder.memories.read(present(work.delivery.acceptedBy))).data).toBeUndefined();
    await work.complete();
    await planner.handoff({ ...DRAFT, task: "u" });
    const own: Receipt = { goal: "Mine", firstStep: "Read it", constraints: ["whatever"] };
    const given = await take(coder, { receipt: own });
    expect((await coder.memories.read(present(given.delivery.acceptedBy))).data).toEqual({
      receipt: own,
    });
  });

  it("is not needed to decline [DLV-11]", async () => {
    const { coder, sent } = await team();
    const { value: offer } = await coder.inbox({ wait: false }).next();
    await offer?.decline("I do not understand the goal");
    expect(await sent.completed({ timeoutMs: 60_000 })).toMatchObject({
      kind: "declined",
      reason: "I do not understand the goal",
    });
  });

  it("propagates an error of the function that computes it, and claims nothing", async () => {
    const { hub, coder, sent } = await team();
    const before = await contents(hub);
    const broken = () => {
      throw new RangeError("my own fault");
    };
    await expect(coder.accept({ receipt: broken })).rejects.toThrow("my own fault");
    expect(await contents(hub)).toEqual(before);
    expect((await take(coder, { receipt: GOOD })).id).toBe(sent.id);
  });
});

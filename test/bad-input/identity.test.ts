/**
 * Identities: unknown and disabled agents, names that are already in use, and missing or wrong keys
 * are refused, and nothing is written.
 */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Agent, generateKey, openHub } from "../../src/index.ts";
import { brokenTexts, wrongTypes } from "../support/bad-values.ts";
import { refused } from "../support/refusal.ts";
import { openTeam, refusedWithoutTrace } from "../support/team.ts";

describe("an unknown agent", () => {
  it("is refused with similar names as a hint [MEM-4]", async () => {
    const { file, hub, planner } = await openTeam();
    const asked = await refusedWithoutTrace(file, () => hub.agent("plannr"), {
      code: "unknown_agent",
      path: "agent",
      hint: /"planner"/,
    });
    expect(asked.details).toMatchObject({ name: "plannr", near: ["planner"] });
    await refusedWithoutTrace(file, () => hub.agent("architct"), {
      code: "unknown_agent",
      hint: /"architect"/,
    });
    await refusedWithoutTrace(file, () => planner.handoff({ to: "codr", intent: "Go" }), {
      code: "unknown_agent",
      path: "to",
      hint: /"coder"/,
    });
    await refusedWithoutTrace(file, () => planner.memories.recent({ agent: "codr" }), {
      code: "unknown_agent",
      hint: /"coder"/,
    });
  });

  it("is refused with a hint on how to register when no name is similar [MEM-4]", async () => {
    const { file, hub } = await openTeam();
    const expected = { code: "unknown_agent", hint: /hub\.agent\("zzzzzzzzz"/ } as const;
    await refusedWithoutTrace(file, () => hub.agent("zzzzzzzzz"), expected);
  });

  it("is refused even if another workspace has an agent of that name [MEM-4]", async () => {
    const { file } = await openTeam();
    await using elsewhere = await openHub(`sqlite:${file}`, { workspace: "elsewhere" });
    const expected = { code: "unknown_agent" } as const;
    await refusedWithoutTrace(file, () => elsewhere.agent("planner"), expected);
  });
});

describe("a disabled agent", () => {
  const disable = async () => {
    const team = await openTeam();
    await team.hub.agent("coder", { status: "disabled" });
    return team;
  };

  it("cannot remember, pin, hand off or claim [MEM-4]", async () => {
    const { file, hub, coder, planner } = await openTeam();
    const { id } = await planner.remember({ content: "x" });
    await planner.handoff({ to: "coder", intent: "Go" });
    await hub.agent("coder", { status: "disabled" });
    const acts = [
      () => coder.remember({ content: "x" }),
      () => coder.remember([{ content: "x" }, { content: "y" }]),
      () => coder.memories.pin(id),
      () => coder.handoff({ to: "planner", intent: "Go" }),
      () => coder.accept(),
      () => coder.inbox({ wait: false }).next(),
    ];
    for (const act of acts) {
      const expected = { code: "agent_disabled", path: "agent", hint: /status: "active"/ } as const;
      await refusedWithoutTrace(file, act, expected);
    }
  });

  it("cannot receive handoffs by id or alias [MEM-4]", async () => {
    const { file, planner } = await disable();
    for (const to of ["coder", "dev"]) {
      const expected = { code: "agent_disabled", path: "to" } as const;
      await refusedWithoutTrace(file, () => planner.handoff({ to, intent: "Go" }), expected);
    }
  });

  it("can remember again once it is enabled [MEM-4]", async () => {
    const { hub, coder } = await disable();
    await hub.agent("coder", { status: "active" });
    expect((await coder.remember({ content: "back" })).agent).toBe("coder");
  });

  it("cannot settle or add notes to the work it holds until it is enabled again [MEM-4]", async () => {
    const { file, hub, planner, coder } = await openTeam();
    await planner.handoff({ to: "coder", intent: "Go" });
    const work = await coder.accept();
    await hub.agent("coder", { status: "disabled" });
    await refusedWithoutTrace(file, async () => work?.complete(), { code: "agent_disabled" });
    await refusedWithoutTrace(file, async () => work?.note("x"), { code: "agent_disabled" });
    await hub.agent("coder", { status: "active" });
    expect(await work?.complete()).toMatchObject({ kind: "settled" });
  });
});

describe("agent names and aliases", () => {
  it("refuse an alias that is already an id or alias of another agent [MEM-4]", async () => {
    const { file, hub } = await openTeam();
    for (const alias of ["planner", "architect"]) {
      const expected = { code: "alias_taken", path: "profile.aliases" } as const;
      const act = () => hub.agent("coder", { aliases: ["fine", alias] });
      const error = await refusedWithoutTrace(file, act, expected);
      expect(error.details).toMatchObject({ name: alias, by: "planner" });
      const fresh = () => hub.agent("newcomer", { role: "x", aliases: [alias] });
      await refusedWithoutTrace(file, fresh, expected);
    }
  });

  it("resolve an alias to its agent, even when registering under it [MEM-4]", async () => {
    const { hub } = await openTeam();
    const agent = await hub.agent("architect", { description: "draws" });
    expect(agent.id).toBe("planner");
    expect((await hub.agents.list()).map(({ id }) => id)).toEqual(["coder", "planner"]);
  });

  it("give an alias to exactly one of several agents that request it at once [MEM-4]", async () => {
    const { hub } = await openTeam();
    const asked = await Promise.allSettled(
      ["a", "b", "c", "d"].map((id) => hub.agent(id, { aliases: ["wanted"] })),
    );
    expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect((await hub.verify()).problems).toEqual([]);
  });
});

describe("an agent with a key", () => {
  const keyed = async () => {
    const team = await openTeam();
    const key = generateKey();
    const signer = await team.hub.agent("signer", { role: "signer", key });
    await signer.remember({ content: "signed" });
    return { ...team, key, signer };
  };

  it("cannot be registered again without its key or with a different one [MEM-4 MEM-5]", async () => {
    const { file, hub } = await keyed();
    const expected = { code: "identity_mismatch", path: "profile.key", hint: /key/ } as const;
    await refusedWithoutTrace(file, () => hub.agent("signer", { role: "thief" }), expected);
    await refusedWithoutTrace(file, () => hub.agent("signer", {}), expected);
    await refusedWithoutTrace(file, () => hub.agent("signer", { key: generateKey() }), expected);
    const disable = () => hub.agent("signer", { status: "disabled" });
    await refusedWithoutTrace(file, disable, expected);
  });

  it("cannot be impersonated by a caller without the key [MEM-4 MEM-5]", async () => {
    const { file, hub, planner, signer } = await keyed();
    await planner.handoff({ to: "signer", intent: "Go" });
    const impostor = await hub.agent("signer");
    const { id } = await signer.remember({ content: "x" });
    const acts = [
      () => impostor.remember({ content: "forged" }),
      () => impostor.remember([{ content: "forged" }, { content: "too" }]),
      () => impostor.handoff({ to: "planner", intent: "forged" }),
      () => impostor.memories.pin(id),
      () => impostor.accept(),
    ];
    for (const act of acts) {
      const expected = { code: "identity_mismatch", path: "agent", hint: /key/ } as const;
      await refusedWithoutTrace(file, act, expected);
    }
  });

  it("cannot write without its key, even if it was opened before the key was set [MEM-4 MEM-5]", async () => {
    const { file, hub, planner } = await openTeam();
    await hub.agent("planner", { key: generateKey() });
    const act = () => planner.remember({ content: "unsigned" });
    await refusedWithoutTrace(file, act, { code: "identity_mismatch", path: "agent" });
  });
});

describe("a signing key", () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const publicKey = generateKeyPairSync("ed25519").publicKey;
  it.each([
    ["an RSA key", rsa.privateKey],
    ["an RSA key as PEM", rsa.privateKey.export({ type: "pkcs8", format: "pem" })],
    ["a public key", publicKey],
    ["a public key as PEM", publicKey.export({ type: "spki", format: "pem" })],
    ["not valid PEM", "-----BEGIN PRIVATE KEY-----\nsecret-material\n-----END PRIVATE KEY-----"],
    ["empty", ""],
    ["null", null],
    ["a number", 42],
    ["an object", {}],
  ])("is refused without being repeated when it is %s", async (_, key) => {
    const { file, hub } = await openTeam();
    const expected = { code: "invalid_input", path: /key$/, hint: /Ed25519|PEM/ } as const;
    const act = () => hub.agent("signer", { key: key as never });
    const error = await refusedWithoutTrace(file, act, expected);
    expect(`${error.message} ${error.hint} ${JSON.stringify(error)}`).not.toContain(
      "secret-material",
    );
  });
});

describe("agent profiles", () => {
  const GOOD = {
    aliases: ["helper"],
    capabilities: ["plan"],
    description: "Plans",
    model: "m-1",
    name: "Paula",
    owner: "team-a",
    role: "planner",
    status: "active",
    window: 1_000,
  };

  it("refuse a field of the wrong type or with malformed text, and name the field [MEM-4]", async () => {
    const { file, hub } = await openTeam();
    for (const { title, path, input } of wrongTypes(GOOD)) {
      const expected = {
        code: "invalid_input",
        path: new RegExp(`^profile\\.${path}\\b`),
      } as const;
      await refusedWithoutTrace(file, () => hub.agent("fresh", input), expected).catch(
        (error: Error) => expect.fail(`${title}: ${error.message}`),
      );
    }
    for (const { title, path, input } of brokenTexts(GOOD)) {
      const expected = { code: "invalid_input", path: `profile.${path}` } as const;
      await refusedWithoutTrace(file, () => hub.agent("fresh", input), expected).catch(
        (error: Error) => expect.fail(`${title}: ${error.message}`),
      );
    }
  });

  it.each([null, 42, "text", true, [], () => 1])(
    "refuse a profile that is not an object: %s",
    async (profile) => {
      const { file, hub } = await openTeam();
      const act = () => hub.agent("fresh", profile as never);
      await refusedWithoutTrace(file, act, { code: "invalid_input", path: "profile" });
    },
  );

  it("refuse an unknown field and name it", async () => {
    const { file, hub } = await openTeam();
    const act = () => hub.agent("fresh", { rôle: "x" } as never);
    await refusedWithoutTrace(file, act, { code: "invalid_input", path: "profile.rôle" });
  });
});

describe("names and session options", () => {
  it.each([
    [""],
    ["two words"],
    ["a\0b"],
    ["\ud800"],
    ["-dash"],
    ["x".repeat(129)],
    [42],
    [null],
    [{}],
  ])("refuse the agent name %j", async (name) => {
    const { file, hub } = await openTeam();
    const expected = { code: "invalid_input", path: "agent" } as const;
    await refusedWithoutTrace(file, () => hub.agent(name as never), expected);
    await refusedWithoutTrace(file, () => hub.agent(name as never, { role: "x" }), expected);
  });

  it.each([["forever"], [""], [42], [null], [{}]])("refuse the lease option %j", async (lease) => {
    const { file, hub } = await openTeam();
    const act = () => hub.agent("fresh", { role: "x" }, { lease: lease as never });
    await refusedWithoutTrace(file, act, { code: "invalid_input", path: "lease" });
  });

  it.each([null, 42, "text", [], { instanse: "typo" }])(
    "refuse the session options %j",
    async (session) => {
      const { file, hub } = await openTeam();
      const act = () => hub.agent("fresh", { role: "x" }, session as never);
      await refusedWithoutTrace(file, act, { code: "invalid_input" });
    },
  );

  it.each([[""], [" "], ["a\0b"], ["\ud800"], ["x".repeat(129)], [42], [{}]])(
    "refuse the instance or workspace name %j",
    async (name) => {
      const { file, hub } = await openTeam();
      const session = { instance: name as never };
      const act = (): Promise<Agent> => hub.agent("coder", undefined, session);
      const expected = { code: "invalid_input", path: "instance" } as const;
      await refusedWithoutTrace(file, act, expected);
      await refused(() => openHub("memory:", { workspace: name as never }), {
        code: "invalid_input",
        path: "workspace",
      });
    },
  );
});

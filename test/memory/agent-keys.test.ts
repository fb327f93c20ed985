/**
 * Tests keys over time: a key is replaced on the authority of the one before or of an administrator, what
 * earlier keys signed stays valid, and what a revoked key signed from then on is reported.
 */
import { describe, expect, it } from "vitest";
import { generateKey, type Hub, publicKeyOf, signRotation } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import {
  breakIn,
  EMBEDDED_STORES,
  freshAddress,
  open,
  openFresh,
  refusal,
  STORES,
} from "../support/hub/support.ts";
import { present } from "../support/present.ts";

const NO_PROBLEMS = { problems: [] };

/** An agent with a key on a hub in this process, where records can be signed. */
async function keyed(store: (typeof EMBEDDED_STORES)[number] = "sqlite") {
  const clock = new VirtualClock();
  const address = freshAddress(store);
  const hub = await open(address, { clock });
  const [key, newKey] = [generateKey(), generateKey()];
  const coder = await hub.agent("coder", { key, aliases: ["dev"] });
  clock.advance(10);
  const signed = await coder.remember({ content: "With the first key" });
  clock.advance(10);
  const rotation = signRotation({ workspace: hub.workspace, agent: "coder", key, newKey });
  return { address, clock, hub, key, newKey, coder, signed, rotation };
}

const problemsOf = async (hub: Hub) =>
  (await hub.verify()).problems.map(({ record, field }) => `${record} ${field}`);

describe.each(EMBEDDED_STORES)("a key on %s", (store) => {
  it("is replaced on the authority of the key before, which stays valid for its time [OPS-14]", async () => {
    const { clock, hub, key, newKey, coder, rotation } = await keyed(store);
    const keys = await hub.agents.rotateKey("dev", rotation);
    expect(keys).toEqual(
      [
        { publicKey: publicKeyOf(key), since: 0, until: 20, authorizedBy: "registration" },
        { publicKey: publicKeyOf(newKey), since: 20, authorizedBy: "previous-key" },
      ].map((each) => ({
        ...each,
        since: expect.any(Number),
        ...("until" in each && { until: expect.any(Number) }),
      })),
    );
    expect(keys[0]?.until).toBe(keys[1]?.since);
    expect(await hub.agents.keys("coder")).toEqual(keys);
    expect(await refusal(coder.remember({ content: "Old key" }))).toMatchObject({
      code: "identity_mismatch",
    });
    expect(await refusal(hub.agent("coder", { key }))).toMatchObject({ code: "identity_mismatch" });
    const again = await hub.agent("coder", { key: newKey });
    await again.remember({ content: "In the same millisecond" });
    clock.advance(10);
    await again.remember({ content: "With the new key" });
    expect(await hub.verify()).toMatchObject(NO_PROBLEMS);
  });

  it("is not replaced without the key before, or with a statement for something else [OPS-14]", async () => {
    const { hub, key, newKey, rotation } = await keyed(store);
    const stranger = generateKey();
    const whose = { workspace: hub.workspace, agent: "coder", key, newKey };
    const wrong = [
      signRotation({ ...whose, key: stranger }),
      signRotation({ ...whose, workspace: "other" }),
      signRotation({ ...whose, agent: "planner" }),
      { ...rotation, publicKey: publicKeyOf(stranger) },
    ];
    for (const each of wrong) {
      expect(await refusal(hub.agents.rotateKey("coder", each))).toMatchObject({
        code: "identity_mismatch",
      });
    }
    expect(await refusal(hub.agents.rotateKey("coder", { publicKey: "ff" }))).toMatchObject({
      code: "invalid_input",
      path: "rotation.publicKey",
    });
    await hub.agents.rotateKey("coder", rotation);
    const back = signRotation({ ...whose, key: newKey, newKey: key });
    expect(await refusal(hub.agents.rotateKey("coder", back))).toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("has or had this key"),
    });
    expect(await hub.agents.keys("coder")).toHaveLength(2);
  });

  it("that is revoked marks what it signed from then on, and disables the agent [OPS-14]", async () => {
    const { clock, hub, coder, newKey, rotation, signed } = await keyed(store);
    clock.advance(10);
    const stolen = await coder.remember({ content: "Written by a thief" });
    const since = stolen.storedAt;
    const keys = await hub.agents.revokeKey("coder", { since, reason: "A laptop was stolen." });
    expect(keys).toMatchObject([{ revoked: { since, reason: "A laptop was stolen." } }]);
    expect(await problemsOf(hub)).toEqual([`${stolen.id} signature`]);
    expect(signed.storedAt).toBeLessThan(since);
    expect((await hub.agents.get("coder")).status).toBe("disabled");
    expect(await refusal(coder.remember({ content: "More" }))).toMatchObject({
      code: "agent_disabled",
    });
    expect(await refusal(hub.agents.rotateKey("coder", rotation)), "the thief").toMatchObject({
      code: "identity_mismatch",
    });
    const publicKey = publicKeyOf(newKey);
    expect(await hub.agents.rotateKey("coder", { publicKey })).toMatchObject([
      {},
      { authorizedBy: "admin", publicKey },
    ]);
    clock.advance(10);
    await (await hub.agent("coder", { key: newKey })).remember({ content: "Back" });
    expect(await problemsOf(hub)).toEqual([`${stolen.id} signature`]);
  });

  it("that authorized another after it was compromised makes that one doubtful [OPS-14]", async () => {
    const { hub, key, rotation } = await keyed(store);
    await hub.agents.rotateKey("coder", rotation);
    expect(await problemsOf(hub)).toEqual([]);
    await hub.agents.revokeKey("coder", { publicKey: publicKeyOf(key), since: 0 });
    expect(await problemsOf(hub)).toContain("agent coder publicKey");
    expect((await hub.agents.get("coder")).status, "it is not the current key").toBe("active");
  });

  it("keeps its history through export and import, and in the expected heads [OPS-14]", async () => {
    const { hub, rotation } = await keyed(store);
    await hub.agents.rotateKey("coder", rotation);
    const copy = await openFresh(store);
    await copy.archive.import(hub.archive.export());
    expect(await copy.agents.keys("coder")).toEqual(await hub.agents.keys("coder"));
    expect(await copy.verify()).toMatchObject(NO_PROBLEMS);
    const { chains } = await hub.archive.head();
    expect(chains).toContainEqual(expect.objectContaining({ branch: "#keys", seq: 2 }));
  });
});

describe.each(STORES)("the keys of an agent on %s", (store) => {
  it("that does not sign are none, and none can be replaced or revoked [OPS-14]", async () => {
    const hub = await openFresh(store);
    await hub.agent("ada", {});
    expect(await hub.agents.keys("ada")).toEqual([]);
    const publicKey = publicKeyOf(generateKey());
    for (const attempt of [
      () => hub.agents.rotateKey("ada", { publicKey }),
      () => hub.agents.revokeKey("ada", {}),
    ]) {
      expect(await refusal(attempt())).toMatchObject({
        code: "invalid_input",
        message: 'Agent "ada" has no key.',
      });
    }
    expect(await refusal(hub.agents.keys("nobody"))).toMatchObject({ code: "unknown_agent" });
  });
});

describe("verify of the history of keys", () => {
  it("reports a rotation whose signature was changed, even if every hash matches [OPS-14]", async () => {
    const { hub, address, rotation } = await keyed();
    await hub.agents.rotateKey("coder", rotation);
    const file = breakIn(address);
    const flipped = present(rotation.signature).replace(/^../, (two) =>
      two === "00" ? "ff" : "00",
    );
    file.prepare("update memories set text = replace(text, ?, ?)").run(rotation.signature, flipped);
    const found = await problemsOf(hub);
    expect(found.filter((each) => each.endsWith(" key"))).toHaveLength(1);
  });

  it("reports an agent row with another key than the history [OPS-14]", async () => {
    const { hub, address, key, rotation } = await keyed();
    await hub.agents.rotateKey("coder", rotation);
    breakIn(address)
      .prepare("update agents set public_key = ? where id = 'coder'")
      .run(publicKeyOf(key));
    expect(await problemsOf(hub)).toContain("agent coder publicKey");
  });

  it("reports a record signed with a key that had been replaced [OPS-14]", async () => {
    const { hub, address, signed, rotation } = await keyed();
    await hub.agents.rotateKey("coder", rotation);
    breakIn(address)
      .prepare("update memories set stored_at = stored_at + 100000 where id = ?")
      .run(signed.id);
    expect(await problemsOf(hub)).toContain(`${signed.id} signature`);
  });
});

/** Tests signed records: an agent with a key signs what it writes, and verify checks it. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { signerOf } from "../../src/base/signing-keys.ts";
import { generateKey } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import {
  breakIn,
  canonical,
  freshAddress,
  open,
  openFresh,
  refusal,
  STORES,
  sha256,
  take,
} from "../support/hub/support.ts";
import { present } from "../support/present.ts";

const NO_PROBLEMS = { problems: [] };

describe.each(STORES)("a signature on %s", (store) => {
  it("is on everything an agent with a key writes, and verifies [MEM-5]", async () => {
    const hub = await openFresh(store);
    const key = generateKey();
    const coder = await hub.agent("coder", { key });
    const planner = await hub.agent("planner", {});
    await planner.handoff({ to: "coder", intent: "Go" });
    const work = await take(coder);
    await work.note("A finding");
    await work.complete({ summary: "Done" });
    await coder.remember([{ content: "One" }, { content: "Two" }]);
    await coder.handoff({ to: "planner", task: "back", intent: "Go" });
    const written = (await planner.memories.recent({ agent: "coder" })).items;
    expect(written.map(({ type }) => type).toSorted()).toEqual([
      "action",
      "checkpoint",
      "fact",
      "fact",
      "handoff",
      "step",
    ]);
    const publicKey = createPublicKey(createPrivateKey(key));
    const spki = publicKey.export({ type: "spki", format: "der" }).toString("hex");
    expect(coder.info.publicKey).toBe(spki);
    for (const { digest, signature, key: named } of written) {
      const [bytes, signed] = [Buffer.from(digest, "hex"), Buffer.from(present(signature), "hex")];
      expect(verify(null, bytes, publicKey, signed)).toBe(true);
      expect(named, "a signed record names its key").toBe(spki);
    }
    expect(await hub.verify()).toMatchObject(NO_PROBLEMS);
  });

  it("is not required for records written before the agent had a key [MEM-5]", async () => {
    const clock = new VirtualClock();
    const hub = await openFresh(store, { clock });
    const before = await hub.agent("coder", {});
    const unsigned = await before.remember({ content: "Before" });
    clock.advance(1);
    const after = await hub.agent("coder", { key: generateKey() });
    const signed = await after.remember({ content: "After" });
    expect([unsigned.signature, signed.signature?.length]).toEqual([undefined, 128]);
    expect([unsigned.key, signed.key]).toEqual([undefined, after.info.publicKey]);
    expect(await refusal(before.remember({ content: "Still without" }))).toMatchObject({
      code: "identity_mismatch",
    });
    expect(await hub.verify()).toMatchObject(NO_PROBLEMS);
  });

  it("is not required in the millisecond in which the key was set [MEM-5]", async () => {
    const hub = await openFresh(store, { clock: new VirtualClock() });
    await (await hub.agent("coder", {})).remember({ content: "Before" });
    const coder = await hub.agent("coder", { key: generateKey() });
    await coder.remember({ content: "After" });
    expect(await hub.verify()).toMatchObject(NO_PROBLEMS);
  });

  it("requires an Ed25519 private key, and errors do not contain the key [MEM-5]", async () => {
    const hub = await openFresh(store);
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const keys = [privateKey, publicKey, "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n", "secret"];
    for (const key of keys) {
      const error = await refusal(hub.agent("coder", { key }));
      expect(error.code).toBe("invalid_input");
      expect(JSON.stringify(error)).not.toMatch(/c2VjcmV0|"secret/);
    }
    expect(await hub.agents.list()).toEqual([]);
  });
});

describe("verify", () => {
  async function signed() {
    const address = freshAddress();
    const clock = new VirtualClock();
    const hub = await open(address, { clock });
    const coder = await hub.agent("coder", { key: generateKey() });
    clock.advance(1);
    const before = await coder.remember({ content: "First" });
    const last = await coder.remember({ content: "The tests pass" });
    const file = breakIn(address);
    const signature = present(last.signature);
    /** Changes the last record and recomputes every hash. */
    const forge = (change: object, sign = (_digest: string) => signature) => {
      const row = file.prepare("select text from memories where id = ?").get(last.id);
      const text = canonical({ ...JSON.parse(String(row?.["text"])), ...change });
      const link = sha256([before.link, last.seq, last.storedAt, sha256(text)].join("\n"));
      file
        .prepare("update memories set text = ?, link = ?, signature = ? where id = ?")
        .run(text, link, sign(sha256(text)), last.id);
      file.prepare("update chains set link = ?").run(link);
    };
    return { hub, coder, last, signature, file, forge };
  }

  it("reports a record whose signature was changed or removed [MEM-5]", async () => {
    const { hub, last, signature: own, file } = await signed();
    const write = file.prepare("update memories set signature = ? where id = ?");
    const flipped = own.replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
    for (const signature of [flipped, "", own.toUpperCase()]) {
      write.run(signature, last.id);
      const { problems } = await hub.verify();
      expect(problems).toContainEqual(
        expect.objectContaining({ record: last.id, field: "signature" }),
      );
    }
    write.run(own, last.id);
    expect(await hub.verify()).toMatchObject(NO_PROBLEMS);
  });

  it("reports a forged record even if every hash matches [MEM-5]", async () => {
    const { hub, coder, last, forge } = await signed();
    forge({ content: "Ship it" });
    expect((await coder.memories.read(last.id)).content).toBe("Ship it");
    const { problems } = await hub.verify();
    expect(problems).toContainEqual(
      expect.objectContaining({ record: last.id, field: "signature" }),
    );
  });

  it("reports a forged record without a key or with the forger's key [MEM-5]", async () => {
    const { hub, last, forge } = await signed();
    const { publicKey, sign } = signerOf(generateKey());
    const forgeries = [
      () => forge({ content: "Ship it", key: undefined }, () => ""),
      () => forge({ content: "Ship it", key: publicKey }, sign),
    ];
    for (const attempt of forgeries) {
      attempt();
      const { problems } = await hub.verify();
      expect(problems).toContainEqual(
        expect.objectContaining({ record: last.id, field: "signature" }),
      );
    }
  });

  it("reports an agent whose key was replaced or removed [MEM-5]", async () => {
    for (const publicKey of [
      "",
      createPublicKey(generateKey()).export({ type: "spki", format: "der" }).toString("hex"),
    ]) {
      const { hub, file } = await signed();
      file.prepare("update agents set public_key = ?").run(publicKey);
      const named = (await hub.verify()).problems.map(({ record }) => record);
      expect(named).toContain("agent coder");
    }
  });
});

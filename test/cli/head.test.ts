/** `baton head`, `baton verify --expect`, `baton start --heads` and the keys of agents. */
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseHeads } from "../../src/archive/heads.ts";
import { generateKey, publicKeyOf } from "../../src/index.ts";
import { startHub } from "../support/start-hub.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { testStore } from "./baton.ts";

describe("baton head", () => {
  it("prints a signed head that baton verify --expect compares with [OPS-14]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    const keyFile = folder.file("key.pem");
    const key = generateKey();
    writeFileSync(keyFile, key);
    await store.baton("agent", "add", "ada");
    await store.baton("remember", "One", "--as", "ada");
    const { stdout: head } = await store.baton("head", "--sign", keyFile);
    expect(parseHeads(head)).toMatchObject([{ key: publicKeyOf(key), records: 3 }]);
    await store.baton("remember", "Two", "--as", "ada");
    const verify = ["verify", "--expect", head.trim(), "--public-key", publicKeyOf(key)];
    expect(await store.baton(...verify)).toMatchObject({ code: 0 });
    const file = folder.file("heads.jsonl");
    await store.baton("head", "--sign", keyFile, "--out", file);
    const good = await store.baton("verify", "--expect", file, "--public-key", keyFile);
    expect(good.code, good.stderr).toBe(0);
    const line = readFileSync(file, "utf8");
    writeFileSync(file, line.replace('"seq":2', '"seq":3'));
    const changed = await store.baton("verify", "--expect", file);
    expect(changed.code).toBe(74);
    expect(changed.stdout).toContain("digest: does not match the head");
    const missing = await store.baton("verify", "--expect", folder.file("none"));
    expect(missing.code).toBe(64);
    expect(missing.stderr).toContain("--expect");
  });

  it("lists, rotates and revokes keys of an agent [OPS-14]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    const [old, next] = [folder.file("old.pem"), folder.file("new.pem")];
    const [key, newKey] = [generateKey(), generateKey()];
    writeFileSync(old, key);
    writeFileSync(next, newKey);
    {
      await using hub = await store.open();
      await hub.agent("coder", { key });
    }
    const rotated = await store.baton(
      "agent",
      "rotate-key",
      "coder",
      "--key",
      old,
      "--new-key",
      next,
    );
    expect(rotated.code, rotated.stderr).toBe(0);
    expect(rotated.stdout).toContain("authorized by the previous key");
    const revoke = ["--public-key", old, "--since", "2026-01-01T00:00Z", "--reason", "Lost"];
    const revoked = await store.baton("agent", "revoke-key", "coder", ...revoke);
    expect(revoked.code, revoked.stderr).toBe(0);
    const keys = await store.baton("agent", "keys", "coder", "--json");
    expect(JSON.parse(keys.stdout)).toMatchObject([
      { publicKey: publicKeyOf(key), revoked: { reason: "Lost" } },
      { publicKey: publicKeyOf(newKey), authorizedBy: "previous-key" },
    ]);
    const bare = await store.baton("agent", "rotate-key", "coder", "--key", next);
    expect(bare.stderr).toContain("The new key is missing");
  });
});

/** Runs a hub as a child process: many seconds on a busy machine. */
describe("baton start --heads", { timeout: 240_000 }, () => {
  it("appends signed heads on a schedule and at the end, also of an idle hub [OPS-14]", async () => {
    using store = testStore();
    using folder = temporaryFolder();
    const [file, keyFile] = [folder.file("heads.jsonl"), folder.file("key.pem")];
    const key = generateKey();
    writeFileSync(keyFile, key);
    await store.baton("agent", "add", "ada");
    await store.baton("remember", "One", "--as", "ada");
    const heads = () => parseHeads(readFileSync(file, "utf8"));
    const args = ["--heads", file, "--heads-every", "20ms", "--head-key", keyFile];
    await using hub = await startHub(store.address, ...args);
    await until("three lines", () => heads().length >= 3);
    const before = heads().length;
    hub.child.signal("SIGTERM");
    expect(await hub.child.ended).toMatchObject({ code: 0 });
    expect(heads().length).toBeGreaterThan(before);
    expect(heads()[0]).toMatchObject({ chains: [{ branch: "audit" }, { branch: "main", seq: 1 }] });
    const verify = ["verify", "--expect", file, "--public-key", publicKeyOf(key)];
    expect(await store.baton(...verify)).toMatchObject({ code: 0 });
  });
});

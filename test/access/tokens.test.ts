/**
 * Tokens on every store: issued once, bound to a workspace and an agent, ended by expiry or
 * revocation.
 */
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ACCESS_LEVELS, type IssuedToken, LocalHub } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { openReferenceStore } from "../../store-contract/reference/open.ts";
import { EMBEDDED_STORES, openTwo, refusal } from "../support/hub/support.ts";
import {
  bytesOf,
  idBytes,
  local,
  openCounted,
  openCountedFile,
  openLocal,
  secretOf,
  textOf,
} from "./support.ts";

const DAY = 24 * 3_600_000;
/** The last use of a token is recorded in the background. */
const PATIENCE = { timeout: 60_000 };
const CODER = { role: "coder" } as const;

const partsOf = ({ info }: IssuedToken) => ({ id: idBytes(info.id), workspace: "default" });

describe.each(EMBEDDED_STORES)("a token on %s", (store) => {
  it("names its agent, access level, workspace and expiry [OPS-5]", async () => {
    const clock = new VirtualClock();
    const hub = await openLocal(store, { clock, workspace: "team one" });
    await hub.agent("ada", { role: "coder", aliases: ["ada-bot"] });
    const input = { agent: "ada-bot", access: "agent", expiresInMs: DAY, label: "Laptop" } as const;
    const { token, info } = await hub.tokens.add(input, "root");
    expect(token).toMatch(/^baton_[A-Za-z0-9_-]{40,}$/);
    expect(info).toEqual({
      id: expect.stringMatching(/^tok_[0-9a-f-]{36}$/),
      state: "good",
      agent: "ada",
      access: "agent",
      label: "Laptop",
      issuedAt: clock.now(),
      issuedBy: "root",
      expiresAt: clock.now() + DAY,
    });
    expect(await hub.authenticate(token)).toEqual({
      kind: "bearer",
      token: info.id,
      workspace: "team one",
      agent: "ada",
      access: "agent",
      expiresAt: info.expiresAt,
    });
    const used = { ...info, lastUsedAt: clock.now() };
    await vi.waitFor(async () => expect(await hub.tokens.list()).toEqual([used]), PATIENCE);
  });

  it("expires after 90 days by default, and never if so asked [OPS-5]", async () => {
    const clock = new VirtualClock();
    const hub = await openLocal(store, { clock });
    await hub.agent("ada", CODER);
    const issue = (more: { readonly expiresInMs?: null }) =>
      hub.tokens.add({ agent: "ada", access: "agent", ...more });
    const [usual, endless] = [await issue({}), await issue({ expiresInMs: null })];
    expect(usual.info.expiresAt).toBe(clock.now() + 90 * DAY);
    expect(endless.info).not.toHaveProperty("expiresAt");
    clock.advance(90 * DAY - 1);
    expect(await hub.authenticate(usual.token)).toMatchObject({ kind: "bearer" });
    clock.advance(1);
    expect(await hub.authenticate(usual.token)).toEqual({ kind: "refused", why: "expired" });
    clock.advance(3_650 * DAY);
    expect(await hub.authenticate(endless.token)).toMatchObject({ kind: "bearer" });
  });

  it("states when it was last used, to within five minutes [OPS-5]", async () => {
    const clock = new VirtualClock();
    const hub = await openLocal(store, { clock });
    await hub.agent("ada", CODER);
    const { token, info } = await hub.tokens.add({ agent: "ada", access: "agent" });
    const unused = await hub.tokens.add({ agent: "ada", access: "agent" });
    const uses = async () => (await hub.tokens.list()).map(({ lastUsedAt }) => lastUsedAt);
    const first = clock.now();
    await hub.authenticate(token);
    await vi.waitFor(async () => expect(await uses()).toEqual([first, undefined]), PATIENCE);
    clock.advance(5 * 60_000);
    const second = clock.now();
    await hub.authenticate(token);
    await vi.waitFor(async () => expect(await uses()).toEqual([second, undefined]), PATIENCE);
    await hub.authenticate(textOf({ ...partsOf(unused), secret: Buffer.alloc(32) }));
    await hub.tokens.revoke(info.id);
    clock.advance(5 * 60_000);
    await hub.authenticate(token);
    expect(await uses()).toEqual([second, undefined]);
  });

  it("expires by the store's clock, even while its check is cached [OPS-5]", async () => {
    const clock = new VirtualClock();
    const hub = await openLocal(store, { clock });
    await hub.agent("ada", CODER);
    const issue = (expiresInMs: number | null) =>
      hub.tokens.add({ agent: "ada", access: "reader", expiresInMs });
    const [short, long, endless] = [await issue(1_000), await issue(DAY), await issue(null)];
    expect(await hub.authenticate(short.token)).toMatchObject({ kind: "bearer" });
    clock.advance(999);
    expect(await hub.authenticate(short.token)).toMatchObject({ kind: "bearer" });
    clock.advance(1);
    expect(await hub.authenticate(short.token)).toEqual({ kind: "refused", why: "expired" });
    expect(await hub.authenticate(long.token)).toMatchObject({ kind: "bearer" });
    clock.advance(DAY);
    expect(await hub.authenticate(long.token)).toEqual({ kind: "refused", why: "expired" });
    expect(await hub.authenticate(endless.token)).toMatchObject({ kind: "bearer" });
    const states = (await hub.tokens.list()).map(({ state }) => state);
    expect(states).toEqual(["expired", "expired", "good"]);
  });

  it("is refused once it is revoked, and stays revoked [OPS-5]", async () => {
    const clock = new VirtualClock();
    const hub = await openLocal(store, { clock });
    await hub.agent("ada", CODER);
    const kept = await hub.tokens.add({ agent: "ada", access: "agent" });
    const lost = await hub.tokens.add({ agent: "ada", access: "agent" });
    expect(await hub.authenticate(lost.token)).toMatchObject({ kind: "bearer" });
    const lastUsedAt = clock.now();
    const listed = async () => expect(await hub.tokens.list()).toMatchObject([{}, { lastUsedAt }]);
    await vi.waitFor(listed, PATIENCE);
    clock.advance(5);
    const revoked = await hub.tokens.revoke(lost.info.id, "Laptop stolen", "root");
    expect(revoked).toEqual({
      ...lost.info,
      lastUsedAt,
      state: "revoked",
      revokedAt: clock.now(),
      revokedBy: "root",
      reason: "Laptop stolen",
    });
    expect(await hub.authenticate(lost.token)).toEqual({ kind: "refused", why: "revoked" });
    expect(await hub.authenticate(kept.token)).toMatchObject({ kind: "bearer" });
    clock.advance(5);
    expect(await hub.tokens.revoke(lost.info.id, "Again")).toEqual(revoked);
    expect(await hub.tokens.list()).toMatchObject([{ id: kept.info.id, state: "good" }, revoked]);
  });

  it("is refused while its agent is disabled, but not while it is paused [OPS-5]", async () => {
    const clock = new VirtualClock();
    const hub = await openLocal(store, { clock });
    await hub.agent("ada", CODER);
    const { token } = await hub.tokens.add({ agent: "ada", access: "agent" });
    const become = async (status: "active" | "disabled" | "paused") => {
      await hub.agent("ada", { status });
      clock.advance(2_000);
      return hub.authenticate(token);
    };
    expect(await become("disabled")).toEqual({ kind: "refused", why: "disabled" });
    const refused = await refusal(hub.tokens.add({ agent: "ada", access: "agent" }));
    expect(refused).toMatchObject({ code: "agent_disabled", path: "agent" });
    expect(await become("paused")).toMatchObject({ kind: "bearer" });
    expect(await become("active")).toMatchObject({ kind: "bearer" });
  });

  it("belongs to one workspace, which any hub on the store recognizes [OPS-5]", async () => {
    const hub = await openLocal(store, { workspace: "alpha" });
    const beta = hub.beside("beta");
    await hub.agent("ada", CODER);
    await beta.agent("ada", CODER);
    const { token, info } = await hub.tokens.add({ agent: "ada", access: "admin" });
    expect(await beta.authenticate(token)).toMatchObject({ kind: "bearer", workspace: "alpha" });
    expect(await beta.tokens.list()).toEqual([]);
    expect(await refusal(beta.tokens.revoke(info.id))).toMatchObject({ code: "unknown_token" });
    const parts = { id: idBytes(info.id), secret: secretOf(token) };
    for (const workspace of ["beta", "nowhere"]) {
      const moved = textOf({ ...parts, workspace });
      expect(await hub.authenticate(moved)).toEqual({ kind: "refused", why: "unknown" });
    }
    expect(await hub.authenticate(textOf({ ...parts, workspace: "alpha" }))).toMatchObject({
      token: info.id,
    });
  });

  it("is refused with another token's id or secret, or with invented ones [OPS-5]", async () => {
    const hub = await openLocal(store);
    await hub.agent("ada", CODER);
    await hub.agent("eve", CODER);
    const ada = await hub.tokens.add({ agent: "ada", access: "admin" });
    const eve = await hub.tokens.add({ agent: "eve", access: "reader" });
    await hub.authenticate(ada.token);
    const forged = [
      { id: idBytes(ada.info.id), secret: secretOf(eve.token) },
      { id: idBytes(ada.info.id), secret: Buffer.alloc(32) },
      { id: idBytes(ada.info.id), secret: Buffer.alloc(0) },
      { id: Buffer.alloc(16), secret: secretOf(ada.token) },
      { id: Buffer.alloc(16, 255), secret: Buffer.alloc(32, 255) },
    ].map((parts) => textOf({ ...parts, workspace: "default" }));
    for (const text of forged) {
      expect(await hub.authenticate(text), text).toMatchObject({ kind: "refused" });
    }
    expect(await hub.authenticate(ada.token)).toMatchObject({ agent: "ada", access: "admin" });
  });

  it("for any agent requires coordinator or admin access [OPS-5]", async () => {
    const hub = await openLocal(store);
    for (const access of ["coordinator", "admin"] as const) {
      const { token } = await hub.tokens.add({ agent: "*", access });
      expect(await hub.authenticate(token)).toMatchObject({ agent: "*", access });
    }
    for (const access of ["reader", "agent"] as const) {
      const refused = await refusal(hub.tokens.add({ agent: "*", access }));
      expect(refused).toMatchObject({ code: "invalid_input", path: "access" });
    }
    expect(await hub.tokens.list()).toHaveLength(2);
  });
});

describe.each(["sqlite", "postgres"] as const)(
  "a token that is cached by two hubs on %s",
  (store) => {
    it("is refused within two seconds after another hub revoked it [OPS-5]", async () => {
      const clock = new VirtualClock();
      const [one, other] = await openTwo(store, { clock });
      const hub = local(one);
      await hub.agent("ada", CODER);
      const issue = () => hub.tokens.add({ agent: "ada", access: "agent" });
      const [first, second] = [await issue(), await issue()];
      for (const { token } of [first, second]) {
        expect(await hub.authenticate(token)).toMatchObject({ kind: "bearer" });
      }
      await other.tokens.revoke(first.info.id);
      await other.tokens.revoke(second.info.id);
      clock.advance(1_999);
      expect(await hub.authenticate(first.token)).toMatchObject({ kind: "bearer" });
      clock.advance(1);
      expect(await hub.authenticate(first.token)).toEqual({ kind: "refused", why: "revoked" });
      clock.set(clock.now() - DAY); // Setting the clock back does not extend the cache.
      expect(await hub.authenticate(second.token)).toEqual({ kind: "refused", why: "revoked" });
    });
  },
);

describe("token lookup", () => {
  it("queries the store once in two seconds, however many calls there are [OPS-5]", async () => {
    const { hub, clock, lookUps } = openCounted();
    await hub.agent("ada", CODER);
    const { token, info } = await hub.tokens.add({ agent: "ada", access: "agent" });
    const before = lookUps();
    const all = await Promise.all(Array.from({ length: 1_000 }, () => hub.authenticate(token)));
    expect(all.every(({ kind }) => kind === "bearer")).toBe(true);
    const guess = { id: idBytes(info.id), secret: Buffer.alloc(32), workspace: "default" };
    await hub.authenticate(textOf(guess));
    await hub.beside("other").authenticate(token);
    expect(lookUps() - before).toBe(1);
    clock.advance(2_000);
    await hub.authenticate(token);
    expect(lookUps() - before).toBe(2);
  });

  it("writes once in five minutes, however many calls there are [OPS-5]", async () => {
    const { hub, clock, writes } = openCounted();
    await hub.agent("ada", CODER);
    const { token } = await hub.tokens.add({ agent: "ada", access: "agent" });
    const before = writes();
    for (let second = 0; second < 300; second++) {
      await Promise.all([hub.authenticate(token), hub.authenticate(token)]);
      clock.advance(1_000);
    }
    expect(writes() - before).toBe(1);
    await hub.authenticate(token);
    expect(writes() - before).toBe(2);
  });

  it("does not depend on recording the last use [OPS-5]", async () => {
    const clock = new VirtualClock();
    const kept = openReferenceStore({ clock });
    const broken = Object.assign(Object.create(kept) as typeof kept, {
      putEntry: () => Promise.reject(new Error("The disk is full.")),
    });
    const issuer = new LocalHub(kept, { clock });
    onTestFinished(() => issuer.close());
    await issuer.agent("ada", CODER);
    const { token } = await issuer.tokens.add({ agent: "ada", access: "agent" });
    const hub = new LocalHub(broken, { clock });
    expect(await hub.authenticate(token)).toMatchObject({ kind: "bearer", agent: "ada" });
    expect((await issuer.tokens.list())[0]).not.toHaveProperty("lastUsedAt");
  });

  it("does not cache unknown ids, and limits the size of the cache [OPS-5]", async () => {
    const { hub, store, lookUps } = await openCountedFile();
    await hub.agent("ada", CODER);
    const { token, info } = await hub.tokens.add({ agent: "ada", access: "agent" });
    const value = (await store.findEntry("default", "token", info.id))?.value ?? "";
    const asked = async (text: string): Promise<number> => {
      const before = lookUps();
      await hub.authenticate(text);
      return lookUps() - before;
    };
    expect(await asked(token)).toBe(1);
    const secret = Buffer.alloc(32);
    const numbered = (n: number): Buffer => {
      const id = Buffer.alloc(16);
      id.writeUInt32BE(n, 12);
      return id;
    };
    const text = (n: number) => textOf({ id: numbered(n), secret, workspace: "default" });
    const numbers = Array.from({ length: 10_000 }, (_, n) => n);
    for (const n of numbers) await hub.authenticate(text(n));
    expect(await asked(text(0))).toBe(1);
    expect(await asked(token)).toBe(0);
    const named = (n: number) => `tok_00000000-0000-0000-0000-${n.toString(16).padStart(12, "0")}`;
    const put = (n: number) =>
      store.putEntry("default", { kind: "token", name: named(n), value, basedOn: 0 });
    await Promise.all(numbers.map(put));
    for (const n of numbers) await hub.authenticate(text(n));
    expect(await asked(text(9_999))).toBe(0);
    expect(await asked(token)).toBe(1);
  });

  it("compares secrets in constant time [OPS-5]", async () => {
    const { hub } = openCounted();
    await hub.agent("ada", CODER);
    const { token, info } = await hub.tokens.add({ agent: "ada", access: "agent" });
    const compared: number[][] = [];
    const original = crypto.timingSafeEqual;
    crypto.timingSafeEqual = (a, b) => {
      compared.push([a.byteLength, b.byteLength]);
      return original(a, b);
    };
    syncBuiltinESMExports();
    onTestFinished(() => {
      crypto.timingSafeEqual = original;
      syncBuiltinESMExports();
    });
    expect(await hub.authenticate(token)).toMatchObject({ kind: "bearer" });
    const wrong = { id: idBytes(info.id), secret: Buffer.alloc(32), workspace: "default" };
    expect(await hub.authenticate(textOf(wrong))).toMatchObject({ why: "unknown" });
    expect(compared).toEqual([
      [32, 32],
      [32, 32],
    ]);
  });

  it("refuses a row that was copied or damaged [OPS-5]", async () => {
    const { hub, store } = openCounted({ workspace: "alpha" });
    await hub.agent("ada", CODER);
    await hub.beside("beta").agent("ada", CODER);
    const { token, info } = await hub.tokens.add({ agent: "ada", access: "admin" });
    const { value } = (await store.findEntry("alpha", "token", info.id)) ?? { value: "" };
    const secret = secretOf(token);
    // The same row in another workspace, and under another id.
    await store.putEntry("beta", { kind: "token", name: info.id, value, basedOn: 0 });
    const other = "tok_00000000-0000-7000-8000-000000000000";
    await store.putEntry("alpha", { kind: "token", name: other, value, basedOn: 0 });
    for (const text of [
      textOf({ id: idBytes(info.id), secret, workspace: "beta" }),
      textOf({ id: idBytes(other), secret, workspace: "alpha" }),
    ]) {
      expect(await hub.authenticate(text)).toEqual({ kind: "refused", why: "unknown" });
    }
    const cut = { ...JSON.parse(value), digest: "" };
    await store.putEntry("alpha", {
      kind: "token",
      name: info.id,
      value: JSON.stringify(cut),
      basedOn: 1,
    });
    expect(await hub.authenticate(token)).toEqual({ kind: "refused", why: "unknown" });
    expect(bytesOf(token)[0]).toBe(1);
  });
});

describe("managing tokens", () => {
  it("refuses more tokens than the limit, not counting revoked ones [OPS-5]", async () => {
    const hub = await openLocal("memory", { limits: { tokens: 2 } });
    await hub.agent("ada", CODER);
    const issue = () => hub.tokens.add({ agent: "ada", access: "agent" });
    const [first] = [await issue(), await issue()];
    expect(await refusal(issue())).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "tokens", max: 2, actual: 3 },
    });
    await hub.tokens.revoke(first.info.id);
    expect((await issue()).info).toMatchObject({ state: "good" });
  });

  it("deletes tokens that ended more than 90 days ago, which stay refused [OPS-5]", async () => {
    const { hub, clock } = openCounted();
    await hub.agent("ada", CODER);
    const issue = (expiresInMs = 200 * DAY) =>
      hub.tokens.add({ agent: "ada", access: "agent", expiresInMs });
    const [expired, revoked, good] = [await issue(DAY), await issue(), await issue()];
    await hub.tokens.revoke(revoked.info.id);
    clock.advance(90 * DAY);
    const later = await issue();
    expect((await hub.tokens.list()).map(({ id }) => id)).toEqual([
      expired.info.id,
      good.info.id,
      later.info.id,
    ]);
    clock.advance(DAY);
    const last = await issue();
    expect((await hub.tokens.list()).map(({ id }) => id)).toEqual([
      good.info.id,
      later.info.id,
      last.info.id,
    ]);
    for (const { token } of [expired, revoked]) {
      expect(await hub.authenticate(token)).toEqual({ kind: "refused", why: "unknown" });
    }
  });

  it("refuses invalid input and creates no token [OPS-5]", async () => {
    const hub = await openLocal("memory");
    await hub.agent("ada", CODER);
    const fine = { agent: "ada", access: "agent" };
    const wrong: readonly (readonly [unknown, string, string])[] = [
      [undefined, "invalid_input", ""],
      [{}, "invalid_input", "access"],
      [{ ...fine, access: "root" }, "invalid_input", "access"],
      [{ ...fine, agent: "" }, "invalid_input", "agent"],
      [{ ...fine, agent: "a b" }, "invalid_input", "agent"],
      [{ ...fine, agent: "aad" }, "unknown_agent", "agent"],
      [{ ...fine, agent: "baton" }, "invalid_input", "agent"],
      [{ ...fine, expiresInMs: 0 }, "invalid_input", "expiresInMs"],
      [{ ...fine, expiresInMs: 367 * DAY }, "invalid_input", "expiresInMs"],
      [{ ...fine, expiresInMs: "30d" }, "invalid_input", "expiresInMs"],
      [{ ...fine, label: "" }, "invalid_input", "label"],
      [{ ...fine, label: "a\0b" }, "invalid_input", "label"],
      [{ ...fine, label: "x".repeat(129) }, "invalid_input", "label"],
      [{ ...fine, expires: DAY }, "invalid_input", "expires"],
    ];
    for (const [input, code, path] of wrong) {
      const refused = await refusal(hub.tokens.add(input as never));
      expect(refused, JSON.stringify(input)).toMatchObject({ code, path });
    }
    const by = await refusal(hub.tokens.add({ agent: "ada", access: "agent" }, "no name"));
    expect(by).toMatchObject({ code: "invalid_input", path: "by" });
    expect(await hub.tokens.list()).toEqual([]);
  });

  it("refuses a token for the hub itself [OPS-5]", async () => {
    const { hub } = openCounted();
    const ada = await hub.agent("ada", CODER);
    // The hub registers itself to record that an agent was registered.
    expect((await hub.agents.get("baton")).id).toBe("baton");
    const refused = await refusal(hub.tokens.add({ agent: "baton", access: "admin" }));
    expect(refused).toMatchObject({ code: "invalid_input", path: "agent" });
    expect(ada.id).toBe("ada");
  });

  it("refuses to revoke an invalid or unknown id, or with an empty reason [OPS-5]", async () => {
    const hub = await openLocal("memory");
    for (const id of [
      undefined,
      null,
      42,
      "",
      "tok_1",
      "dlv_01900000-0000-7000-8000-000000000000",
    ]) {
      const refused = await refusal(hub.tokens.revoke(id as never));
      expect(refused, String(id)).toMatchObject({ code: "invalid_input", path: "id" });
    }
    const none = "tok_01900000-0000-7000-8000-000000000000";
    expect(await refusal(hub.tokens.revoke(none))).toMatchObject({
      code: "unknown_token",
      path: "id",
    });
    const why = await refusal(hub.tokens.revoke(none, ""));
    expect(why).toMatchObject({ code: "invalid_input", path: "reason" });
  });

  it("has four access levels [OPS-5]", () => {
    expect(ACCESS_LEVELS).toEqual(["reader", "agent", "coordinator", "admin"]);
  });
});

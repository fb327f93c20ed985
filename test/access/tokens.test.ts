/** Tokens on every store: issued once, told apart, ended by time, by revocation, and with their agent. */
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { describe, expect, it, onTestFinished } from "vitest";
import { ACCESS_LEVELS } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
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
const SOMEBODY = { role: "coder" } as const;

describe.each(EMBEDDED_STORES)("a token on %s", (store) => {
  it("says who comes in, what they may do, where, and until when [OPS-5]", async () => {
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
    expect(await hub.tokens.list()).toEqual([info]);
  });

  it("ends at its time, by the store's clock, also while it is believed [OPS-5]", async () => {
    const clock = new VirtualClock();
    const hub = await openLocal(store, { clock });
    await hub.agent("ada", SOMEBODY);
    const issue = (expiresInMs?: number) =>
      hub.tokens.add({ agent: "ada", access: "reader", ...(expiresInMs && { expiresInMs }) });
    const [short, long, endless] = [await issue(1_000), await issue(DAY), await issue()];
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

  it("ends when it is revoked, once and for good [OPS-5]", async () => {
    const clock = new VirtualClock();
    const hub = await openLocal(store, { clock });
    await hub.agent("ada", SOMEBODY);
    const kept = await hub.tokens.add({ agent: "ada", access: "agent" });
    const lost = await hub.tokens.add({ agent: "ada", access: "agent" });
    expect(await hub.authenticate(lost.token)).toMatchObject({ kind: "bearer" });
    clock.advance(5);
    const revoked = await hub.tokens.revoke(lost.info.id, "Laptop stolen", "root");
    expect(revoked).toEqual({
      ...lost.info,
      state: "revoked",
      revokedAt: clock.now(),
      revokedBy: "root",
      reason: "Laptop stolen",
    });
    expect(await hub.authenticate(lost.token)).toEqual({ kind: "refused", why: "revoked" });
    expect(await hub.authenticate(kept.token)).toMatchObject({ kind: "bearer" });
    clock.advance(5);
    expect(await hub.tokens.revoke(lost.info.id, "Again")).toEqual(revoked);
    expect(await hub.tokens.list()).toEqual([kept.info, revoked]);
  });

  it("opens nothing while its agent is disabled; a paused agent comes in [OPS-5]", async () => {
    const clock = new VirtualClock();
    const hub = await openLocal(store, { clock });
    await hub.agent("ada", SOMEBODY);
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

  it("is of one workspace, and any hub on the store can tell which [OPS-5]", async () => {
    const hub = await openLocal(store, { workspace: "alpha" });
    const beta = hub.beside("beta");
    await hub.agent("ada", SOMEBODY);
    await beta.agent("ada", SOMEBODY);
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

  it("with another's id, another's secret or a made-up one is unknown [OPS-5]", async () => {
    const hub = await openLocal(store);
    await hub.agent("ada", SOMEBODY);
    await hub.agent("eve", SOMEBODY);
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

  it("of any agent is a coordinator's or an admin's [OPS-5]", async () => {
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

describe.each(["sqlite", "postgres"] as const)("a token that two hubs on %s know", (store) => {
  it("is believed for less than two seconds after the other revoked it [OPS-5]", async () => {
    const clock = new VirtualClock();
    const [one, other] = await openTwo(store, { clock });
    const hub = local(one);
    await hub.agent("ada", SOMEBODY);
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
    clock.set(clock.now() - DAY); // A clock that goes back does not make it last.
    expect(await hub.authenticate(second.token)).toEqual({ kind: "refused", why: "revoked" });
  });
});

describe("looking a token up", () => {
  it("happens once in two seconds, however many ask, and for nobody who guesses [OPS-5]", async () => {
    const { hub, clock, lookUps } = openCounted();
    await hub.agent("ada", SOMEBODY);
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

  it("remembers no id that is none, and no more than it may [OPS-5]", async () => {
    const { hub, store, lookUps } = await openCountedFile();
    await hub.agent("ada", SOMEBODY);
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

  it("compares secrets in a time that does not tell how much of one was right [OPS-5]", async () => {
    const { hub } = openCounted();
    await hub.agent("ada", SOMEBODY);
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

  it("finds nothing in a row that was copied or damaged [OPS-5]", async () => {
    const { hub, store } = openCounted({ workspace: "alpha" });
    await hub.agent("ada", SOMEBODY);
    await hub.beside("beta").agent("ada", SOMEBODY);
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

describe("issuing tokens", () => {
  it("has a limit, which those that have ended do not count for [OPS-5]", async () => {
    const hub = await openLocal("memory", { limits: { tokens: 2 } });
    await hub.agent("ada", SOMEBODY);
    const issue = () => hub.tokens.add({ agent: "ada", access: "agent" });
    const [first] = [await issue(), await issue()];
    expect(await refusal(issue())).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "tokens", max: 2, actual: 3 },
    });
    await hub.tokens.revoke(first.info.id);
    expect((await issue()).info).toMatchObject({ state: "good" });
  });

  it("forgets those that ended 90 days ago, which stay refused [OPS-5]", async () => {
    const { hub, clock } = openCounted();
    await hub.agent("ada", SOMEBODY);
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

  it("refuses what is no token, and leaves none behind [OPS-5]", async () => {
    const hub = await openLocal("memory");
    await hub.agent("ada", SOMEBODY);
    const fine = { agent: "ada", access: "agent" };
    const wrong: readonly (readonly [unknown, string, string])[] = [
      [undefined, "invalid_input", ""],
      [{}, "invalid_input", "access"],
      [{ ...fine, access: "root" }, "invalid_input", "access"],
      [{ ...fine, agent: "" }, "invalid_input", "agent"],
      [{ ...fine, agent: "a b" }, "invalid_input", "agent"],
      [{ ...fine, agent: "aad" }, "unknown_agent", "agent"],
      [{ ...fine, agent: "baton" }, "unknown_agent", "agent"],
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

  it("gives nobody a token of the hub itself [OPS-5]", async () => {
    const { hub, store } = openCounted();
    const ada = await hub.agent("ada", SOMEBODY);
    // A policy was carried out, so the hub is in its own registry.
    const { agent } = (await store.registerAgent({
      workspace: "default",
      agent: { id: "baton", role: "", status: "active", aliases: [], publicKey: "", profile: "{}" },
      basedOn: 0,
    })) as { agent: { id: string } };
    expect(agent.id).toBe("baton");
    const refused = await refusal(hub.tokens.add({ agent: "baton", access: "admin" }));
    expect(refused).toMatchObject({ code: "invalid_input", path: "agent" });
    expect(ada.id).toBe("ada");
  });

  it("revokes by an id that is one, and says when there is no such token [OPS-5]", async () => {
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

  it("knows four levels [OPS-5]", () => {
    expect(ACCESS_LEVELS).toEqual(["reader", "agent", "coordinator", "admin"]);
  });
});

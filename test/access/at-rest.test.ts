/** Tokens at rest: what the store contains of them, and what exports and backups restore. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { restore } from "../../src/index.ts";
import {
  EMBEDDED_STORES,
  freshAddress,
  open,
  refusal,
  tempFolder,
} from "../support/hub/support.ts";
import { local, openLocal, secretOf } from "./support.ts";

/** Returns every form in which a secret could be written. */
function writings(token: string): Buffer[] {
  const secret = secretOf(token);
  const encodings = ["hex", "base64", "base64url"] as const;
  const texts = encodings.map((encoding) => secret.toString(encoding).replace(/=+$/, ""));
  // In the token's text the secret is not aligned to a base64 group.
  const inText = token.slice(40, 60);
  return [
    secret,
    ...[...texts, texts[0]?.toUpperCase() ?? "", inText, token].map((text) => Buffer.from(text)),
  ];
}

/** Returns the bytes of a file; none if it is a journal that was deleted after the listing. */
function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

describe("a stored token", () => {
  it("leaves no trace of its secret in any file of the store, export or backup [OPS-5]", async () => {
    const address = freshAddress("sqlite");
    const folder = dirname(address.slice("sqlite:".length));
    const hub = local(await open(address));
    await hub.agent("ada", { role: "coder" });
    const { token, info } = await hub.tokens.add({ agent: "ada", access: "admin", label: "CI" });
    await hub.authenticate(token);
    const guessed = await refusal(hub.tokens.revoke(token));
    expect(JSON.stringify(guessed)).not.toContain(token.slice(20));
    await hub.tokens.revoke(info.id, "Done");
    await hub.authenticate(token);
    await hub.archive.exportTo(join(folder, "team.jsonl"));
    await hub.archive.backup(join(folder, "hub.backup"));
    const events = JSON.stringify((await hub.events.list({ after: 0 })).items);
    const search = (): string[] =>
      readdirSync(folder, { withFileTypes: true, recursive: true })
        .filter((each) => each.isFile())
        .flatMap((each) => {
          const bytes = bytesOf(join(each.parentPath, each.name));
          return writings(token).some((writing) => bytes.includes(writing)) ? [each.name] : [];
        });
    expect(readdirSync(folder)).toContain("hub.db-wal");
    expect(search()).toEqual([]);
    await hub.close();
    expect(search()).toEqual([]);
    // Proves that the search works: the token's id is in the file.
    expect(readFileSync(join(folder, "hub.db")).includes(info.id)).toBe(true);
    expect(writings(token).some((writing) => events.includes(writing.toString()))).toBe(false);
  });

  it("is redacted where a caller writes it into a label, an agent name or a reason [OPS-5]", async () => {
    const hub = await openLocal("memory");
    await hub.agent("ada", { role: "coder" });
    const { token, info } = await hub.tokens.add({ agent: "ada", access: "admin" });
    const labelled = { agent: "ada", access: "agent", label: `Was ${token}` } as const;
    await hub.tokens.add(labelled);
    const agent = await refusal(hub.tokens.add({ agent: token, access: "agent" }));
    await hub.tokens.revoke(info.id, `Leaked: ${token}`);
    const shown = JSON.stringify([agent, await hub.tokens.list()]);
    expect(shown).toContain("[redacted:");
    expect(shown).not.toContain(token.slice(10, 40));
  });

  it("cannot be read with SQL [OPS-5]", async () => {
    const hub = await openLocal("sqlite");
    await hub.tokens.add({ agent: "*", access: "admin" });
    const refused = await refusal(hub.memories.sql("select * from entries"));
    expect(refused.code).toMatch(/^sql_/);
  });
});

describe.each(EMBEDDED_STORES)("a token of a workspace that was imported into %s", (store) => {
  it("is valid there until it is revoked, and cannot be imported into another workspace [OPS-5]", async () => {
    const hub = await openLocal("sqlite", { workspace: "alpha" });
    await hub.agent("ada", { role: "coder" });
    const good = await hub.tokens.add({ agent: "ada", access: "agent" });
    const bad = await hub.tokens.add({ agent: "ada", access: "agent" });
    await hub.tokens.revoke(bad.info.id);
    const lines = await Array.fromAsync(hub.archive.export());
    const target = await openLocal(store, { workspace: "alpha" });
    const beta = target.beside("beta");
    expect(await refusal(beta.archive.import(lines))).toMatchObject({ code: "invalid_input" });
    expect(await target.authenticate(good.token)).toMatchObject({ why: "unknown" });
    await target.archive.import(lines);
    expect(await target.authenticate(good.token)).toMatchObject({ workspace: "alpha" });
    expect(await target.authenticate(bad.token)).toEqual({ kind: "refused", why: "revoked" });
    expect(await beta.tokens.list()).toEqual([]);
    await target.tokens.revoke(good.info.id);
    expect(await target.authenticate(good.token)).toEqual({ kind: "refused", why: "revoked" });
    expect(await hub.authenticate(good.token)).toMatchObject({ kind: "bearer" });
    expect(await target.verify()).toMatchObject({ agents: 2, problems: [] });
  });
});

describe("a restored backup", () => {
  it("contains the tokens as they were when it was made [OPS-5]", async () => {
    const folder = tempFolder();
    const hub = await openLocal("sqlite");
    await hub.agent("ada", { role: "coder" });
    const { token, info } = await hub.tokens.add({ agent: "ada", access: "agent" });
    await hub.archive.backup(join(folder, "hub.backup"));
    await hub.tokens.revoke(info.id);
    const address = `sqlite:${join(folder, "again.db")}`;
    await restore(join(folder, "hub.backup"), address);
    const again = local(await open(address));
    expect(await again.authenticate(token)).toMatchObject({ kind: "bearer" });
    expect(await hub.authenticate(token)).toEqual({ kind: "refused", why: "revoked" });
  });
});

/**
 * The text of a token: it has one form, and any other text is refused without a query of the store.
 */
import { describe, expect, it } from "vitest";
import { generateToken, parseToken } from "../../src/access/token-text.ts";
import { openCounted, textOf } from "./support.ts";

const ID = "tok_01900000-0000-7000-8000-0123456789ab";
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

describe("a token's text", () => {
  it("contains workspace and id, for every valid workspace name [OPS-5]", () => {
    for (const workspace of [
      "d",
      "default",
      "a b/c@d#e+f.g_h-1",
      "团队",
      "ü".repeat(128),
      "𝔘".repeat(64),
    ]) {
      const { text, digest } = generateToken(workspace, ID);
      expect(text).toMatch(/^baton_[A-Za-z0-9_-]{40,}$/);
      expect(parseToken(text), workspace).toEqual({ workspace, id: ID, digest });
    }
  });

  it("is unique [OPS-5]", () => {
    const texts = Array.from({ length: 1_000 }, () => generateToken("default", ID).text);
    expect(new Set(texts).size).toBe(1_000);
  });

  it("is refused with any character wrong, missing, doubled or swapped [OPS-5]", () => {
    const { text } = generateToken("default", ID);
    const wrong: string[] = [];
    for (let at = 0; at < text.length; at++) {
      const [before, letter = "", after] = [text.slice(0, at), text[at], text.slice(at + 1)];
      for (const other of LETTERS) wrong.push(before + other + after);
      wrong.push(before + after, before + letter + letter + after);
      wrong.push(before + after.slice(0, 1) + letter + after.slice(1));
    }
    const others = wrong.filter((each) => each !== text);
    expect(others.length).toBeGreaterThan(5_000);
    expect(others.filter((each) => parseToken(each) !== undefined)).toEqual([]);
  });

  it("has only one valid spelling [OPS-5]", () => {
    const { text } = generateToken("default", ID);
    const again = [
      `${text}=`,
      `${text}==`,
      ` ${text}`,
      `${text}\n`,
      text.toUpperCase(),
      `${text.slice(0, 20)} ${text.slice(20)}`,
      text.replaceAll("-", "+").replaceAll("_", "/"),
      `Bearer ${text}`,
    ];
    expect(again.filter((each) => parseToken(each) !== undefined)).toEqual([]);
  });

  it("is refused as malformed without a query when it is forged with a valid checksum [OPS-5]", async () => {
    const id = Buffer.alloc(16);
    const secret = Buffer.alloc(32);
    const { hub, lookUps } = openCounted();
    const before = lookUps();
    for (const text of [
      undefined,
      null,
      42,
      {},
      "",
      "baton_",
      "baton_AAAA",
      `baton_${"A".repeat(100)}`,
      `baton_${"A".repeat(10_000_000)}`,
      textOf({ id, secret, workspace: "" }),
      textOf({ id, secret, workspace: "default", version: 2 }),
      textOf({ id, secret, workspace: "a\0b" }),
      textOf({ id, secret, workspace: " " }),
      textOf({ id, secret, workspace: "x".repeat(129) }),
      textOf({ id, secret, workspace: "'; drop table entries; --" }),
      textOf({ id, secret, workspace: Buffer.of(0xff, 0xfe) }),
      textOf({ id, secret, workspace: Buffer.of(0xed, 0xa0, 0x80) }),
      textOf({ id, secret, workspace: Buffer.of(0xef, 0xbb, 0xbf, 0x61) }),
    ] as string[]) {
      const result = await hub.authenticate(text);
      expect(result, String(text).slice(0, 60)).toEqual({ kind: "refused", why: "malformed" });
    }
    expect(lookUps()).toBe(before);
  });
});

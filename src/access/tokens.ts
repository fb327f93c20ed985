/** `hub.tokens`: issues, lists and revokes the access tokens of a workspace. */
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { idPattern } from "../base/ids.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { changeSetting } from "../memory/audit/change-setting.ts";
import { redactSecrets } from "../memory/redaction/secret-policy.ts";
import { entriesOf } from "../workspace/entries.ts";
import { storeTime } from "../workspace/store-time.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { checkedBy, type IssuedToken, issueToken, type TokenInput } from "./issue-token.ts";
import {
  type StoredToken,
  storedTokenOf,
  TOKEN,
  type TokenInfo,
  tokenInfo,
} from "./stored-token.ts";
import { evictToken } from "./token-cache.ts";

export type { IssuedToken, TokenInput } from "./issue-token.ts";
export type { TokenInfo } from "./stored-token.ts";

const TokenId = z
  .string()
  .regex(idPattern("token"), { error: "must be the id of a token (tok_…)" });
const Reason = z.string().min(1).max(FORMAT_LIMITS.lineLength).optional();

/** `hub.tokens`: issues, lists and revokes tokens. Over HTTP, requires access admin. */
export interface Tokens {
  /**
   * Issues a token. Its text is in the result and never available again. `by`: the caller, if the interface
   * knows it. Throws `unknown_agent`, `agent_disabled`, `limit_exceeded`.
   */
  add(token: TokenInput, by?: string): Promise<IssuedToken>;
  /** Returns all tokens in the order they were issued. Tokens that ended are kept for 90 days. */
  list(): Promise<readonly TokenInfo[]>;
  /**
   * Revokes a token. Every hub refuses it within 2 seconds. Revoking it again keeps the first revocation.
   * Throws `unknown_token`.
   */
  revoke(id: string, reason?: string, by?: string): Promise<TokenInfo>;
}

/** The tokens of a hub in this process. */
export class LocalTokens implements Tokens {
  readonly #workspace: Workspace;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  add(token: TokenInput, by?: string): Promise<IssuedToken> {
    return issueToken(this.#workspace, token, by);
  }

  async list(): Promise<readonly TokenInfo[]> {
    const now = await storeTime(this.#workspace);
    const all: TokenInfo[] = [];
    for await (const entry of entriesOf(this.#workspace, TOKEN)) {
      all.push(tokenInfo(entry.name, storedTokenOf(entry), now));
    }
    return all;
  }

  async revoke(id: string, reason?: string, by?: string): Promise<TokenInfo> {
    const invalid = { code: "invalid_input", what: "The revocation" } as const;
    const token = parseOrThrow(TokenId, id, { ...invalid, prefix: "id" });
    const { reason: clean } = await redactSecrets(this.#workspace, { reason });
    const why = parseOrThrow(Reason, clean, { ...invalid, prefix: "reason" });
    const revokedBy = checkedBy(by);
    const revokedAt = await storeTime(this.#workspace);
    const fields = {
      revokedAt,
      ...(why === undefined ? {} : { reason: why }),
      ...(revokedBy === undefined ? {} : { revokedBy }),
    };
    const name = { kind: TOKEN, name: token } as const;
    const revoked = await changeSetting<StoredToken>(this.#workspace, name, (kept) => {
      if (kept === undefined) throw unknownToken(token);
      return kept.revokedAt === undefined
        ? { value: { ...kept, ...fields }, by: revokedBy }
        : undefined;
    });
    evictToken(this.#workspace.store, token);
    return tokenInfo(token, revoked as StoredToken, revokedAt);
  }
}

const unknownToken = (id: string): BatonError =>
  new BatonError("unknown_token", {
    message: `No token with the id ${id} exists in this workspace.`,
    path: "id",
    hint: "List the tokens with hub.tokens.list().",
    details: { id },
  });

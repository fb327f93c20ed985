/**
 * Issues access tokens. The text of a token is returned once and never stored; the workspace stores its
 * digest. A token for any agent (`*`) is for a program that runs several agents. Because its bearer can act
 * as every agent, it needs at least the access level coordinator.
 */
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { checkLimit, FORMAT_LIMITS } from "../base/limits.ts";
import { AgentName } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { requireAgent } from "../memory/agents.ts";
import { changeSetting } from "../memory/audit/change-setting.ts";
import { redactSecrets } from "../memory/redaction/secret-policy.ts";
import { agentDisabled } from "../memory/refusals.ts";
import { SYSTEM } from "../memory/system-author.ts";
import { entriesOf } from "../workspace/entries.ts";
import { storeTime } from "../workspace/store-time.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { ACCESS_LEVELS, hasAccess } from "./levels.ts";
import {
  ANY_AGENT,
  type StoredToken,
  storedTokenOf,
  TOKEN,
  type TokenInfo,
  tokenInfo,
  tokenStateAt,
} from "./stored-token.ts";
import { generateToken } from "./token-text.ts";

/** Tokens that ended longer ago are deleted when the next one is issued. They are refused in any case. */
const REMEMBERED_MS = 90 * 24 * 3_600_000;

/** The validity of a token if the caller passes none. */
const DEFAULT_VALIDITY_MS = 90 * 24 * 3_600_000;

/** The name of an agent, or `*`. */
export const BearerName = z.union([AgentName, z.literal(ANY_AGENT)], {
  error: "must be the name of an agent, or * for any agent of the workspace",
});

/** The input of `tokens.add()`. */
export const TokenSchema = z.strictObject({
  access: z.enum(ACCESS_LEVELS),
  agent: BearerName,
  /** Milliseconds until it expires, at most one year; null: never. Default: 90 days. */
  expiresInMs: z.int().positive().max(FORMAT_LIMITS.durationMs).nullable().optional(),
  /** What the token is for, as shown by `tokens.list()`. */
  label: z.string().min(1).max(FORMAT_LIMITS.nameLength).optional(),
});

/** The input of `tokens.add()`. With `expiresInMs: null`, the token is valid until it is revoked. */
export type TokenInput = z.input<typeof TokenSchema>;

/** A new token. */
export interface IssuedToken {
  /** The text of the token. Returned only once. */
  readonly token: string;
  readonly info: TokenInfo;
}

/**
 * Issues a token. `by`: the caller, if the interface knows it. Throws `unknown_agent`, `agent_disabled`,
 * `limit_exceeded` and `invalid_input`.
 */
export async function issueToken(
  workspace: Workspace,
  input: TokenInput,
  by?: string,
): Promise<IssuedToken> {
  const redacted = await redactSecrets(workspace, input);
  const checked = parseOrThrow(TokenSchema, redacted, {
    code: "invalid_input",
    what: "The token",
  });
  const { access, agent, expiresInMs = DEFAULT_VALIDITY_MS, label } = checked;
  const issuedBy = checkedBy(by);
  if (agent === ANY_AGENT && !hasAccess(access, "coordinator")) throw accessTooLow();
  const bearer = agent === ANY_AGENT ? agent : await bearerOf(workspace, agent);
  const issuedAt = await storeTime(workspace);
  await enforceTokenLimit(workspace, issuedAt);
  const id = workspace.ids.mint("token");
  const { text, digest } = generateToken(workspace.name, id);
  const kept: StoredToken = {
    access,
    agent: bearer,
    digest: digest.toString("hex"),
    ...(expiresInMs === null ? {} : { expiresAt: issuedAt + expiresInMs }),
    issuedAt,
    ...(issuedBy === undefined ? {} : { issuedBy }),
    ...(label === undefined ? {} : { label }),
  };
  await storeToken(workspace, id, kept);
  return { token: text, info: tokenInfo(id, kept, issuedAt) };
}

/** Returns the checked name of the caller. Throws `invalid_input`. */
export const checkedBy = (by: string | undefined): string | undefined =>
  parseOrThrow(BearerName.optional(), by, {
    code: "invalid_input",
    what: "The caller",
    prefix: "by",
  });

async function storeToken(workspace: Workspace, id: string, kept: StoredToken): Promise<void> {
  await changeSetting<StoredToken>(workspace, { kind: TOKEN, name: id }, (before) => {
    if (before === undefined) return { value: kept, by: kept.issuedBy };
    throw new BatonError("id_conflict", {
      message: `A token with the id ${id} already exists.`,
      path: "id",
      hint: "Retry; every call generates a new id.",
      details: { id },
    });
  });
}

/** Returns the canonical id of an agent. Throws for the hub itself, which has no tokens. */
async function bearerOf(workspace: Workspace, name: string): Promise<string> {
  const { id, status } = await requireAgent(workspace, name);
  if (id === SYSTEM) {
    throw new BatonError("invalid_input", {
      message: `"${SYSTEM}" is reserved for the hub; tokens cannot be issued for it.`,
      path: "agent",
      hint: "Register a separate agent (hub.agent()) and issue the token for it.",
    });
  }
  if (status === "disabled") throw agentDisabled(id, "agent");
  return id;
}

/**
 * Throws `limit_exceeded` if there are too many valid tokens, and deletes those that ended long ago. Two
 * concurrent calls can exceed the limit by one.
 */
async function enforceTokenLimit(workspace: Workspace, now: number): Promise<void> {
  let good = 0;
  for await (const entry of entriesOf(workspace, TOKEN)) {
    const kept = storedTokenOf(entry);
    if (tokenStateAt(now, kept) === "good") good++;
    else if (isPastRetention(kept, now)) await deleteEndedToken(workspace, entry.name, now);
  }
  checkLimit(workspace.limits, "tokens", { actual: good + 1, path: "tokens" });
}

function isPastRetention(kept: StoredToken, now: number): boolean {
  const endedAt = kept.revokedAt ?? kept.expiresAt;
  return endedAt !== undefined && endedAt + REMEMBERED_MS <= now;
}

async function deleteEndedToken(workspace: Workspace, id: string, now: number): Promise<void> {
  await changeSetting<StoredToken>(workspace, { kind: TOKEN, name: id }, (kept) =>
    kept !== undefined && isPastRetention(kept, now) ? { value: undefined } : undefined,
  );
}

const accessTooLow = (): BatonError =>
  new BatonError("invalid_input", {
    message: 'A token for any agent ("*") needs the access level coordinator or admin.',
    path: "access",
    hint: 'Pass one agent, or access: "coordinator".',
  });

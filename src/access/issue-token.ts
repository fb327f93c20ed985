/**
 * Issuing a token: who it stands for, what it may do, until when. The text is given back and nowhere
 * else; the workspace keeps its digest. A token for any agent (`*`) is for a program that runs several:
 * whoever can act as everybody has at least what coordinators have, and is called so.
 */
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { checkLimit, FORMAT_LIMITS } from "../base/limits.ts";
import { AgentName } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { requireAgent, SYSTEM } from "../memory/agents.ts";
import { redactSecrets } from "../memory/redaction/secret-policy.ts";
import { agentDisabled } from "../memory/refusals.ts";
import { changeEntry, entriesOf, toEntryText } from "../workspace/entries.ts";
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

/** Tokens that ended longer ago are forgotten when the next one is issued; nothing accepts them. */
const REMEMBERED_MS = 90 * 24 * 3_600_000;

/** An agent's name, or `*`. */
export const BearerName = z.union([AgentName, z.literal(ANY_AGENT)], {
  error: "must be an agent's name, or * for any agent of the workspace",
});

export const TokenSchema = z.strictObject({
  access: z.enum(ACCESS_LEVELS),
  agent: BearerName,
  expiresInMs: z.int().positive().max(FORMAT_LIMITS.durationMs).optional(),
  label: z.string().min(1).max(FORMAT_LIMITS.nameLength).optional(),
});

/** What a token is to be; `expiresInMs` is left out for one that holds until it is revoked. */
export type TokenInput = z.input<typeof TokenSchema>;

export interface IssuedToken {
  /** Shown this once. */
  readonly token: string;
  readonly info: TokenInfo;
}

/** `by`: who asks, where the door knows. */
export async function issueToken(
  workspace: Workspace,
  input: TokenInput,
  by?: string,
): Promise<IssuedToken> {
  const said = await redactSecrets(workspace, input);
  const { access, agent, expiresInMs, label } = parseOrThrow(TokenSchema, said, {
    code: "invalid_input",
    what: "The token",
  });
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
    ...(expiresInMs === undefined ? {} : { expiresAt: issuedAt + expiresInMs }),
    issuedAt,
    ...(issuedBy === undefined ? {} : { issuedBy }),
    ...(label === undefined ? {} : { label }),
  };
  await storeToken(workspace, id, kept);
  return { token: text, info: tokenInfo(id, kept, issuedAt) };
}

export const checkedBy = (by: string | undefined): string | undefined =>
  parseOrThrow(BearerName.optional(), by, {
    code: "invalid_input",
    what: "Who does it",
    prefix: "by",
  });

async function storeToken(
  { store, name }: Workspace,
  id: string,
  kept: StoredToken,
): Promise<void> {
  const put = { kind: TOKEN, name: id, value: toEntryText(kept), basedOn: 0 };
  if ((await store.putEntry(name, put)).kind === "put") return;
  throw new BatonError("id_conflict", {
    message: `There is a token ${id} already.`,
    path: "id",
    hint: "Ask again: ids are minted anew each time.",
    details: { id },
  });
}

/** The canonical id behind a name. Nobody is given a token of the hub itself. */
async function bearerOf(workspace: Workspace, name: string): Promise<string> {
  const { id, status } = await requireAgent(workspace, name);
  if (id === SYSTEM) {
    throw new BatonError("invalid_input", {
      message: `"${SYSTEM}" is the hub itself: nobody else acts in its name.`,
      path: "agent",
      hint: "Register an agent of its own for whoever needs a token.",
    });
  }
  if (status === "disabled") throw agentDisabled(id, "agent");
  return id;
}

/** Counts the good ones, and forgets those that ended long ago. Two at once may both come through. */
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
  await changeEntry<StoredToken>(workspace, { kind: TOKEN, name: id }, (kept) =>
    kept !== undefined && isPastRetention(kept, now) ? { value: undefined } : undefined,
  );
}

const accessTooLow = (): BatonError =>
  new BatonError("invalid_input", {
    message: "A token for any agent acts as everybody: it has access coordinator or admin.",
    path: "access",
    hint: "Name one agent, or say access: coordinator.",
  });

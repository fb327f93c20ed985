/**
 * The keys of agents over time: a key is replaced by a statement that the previous key has signed, or by an
 * administrator; a key that was compromised is revoked. Each change is a record on a chain of its own, stored
 * together with the registry's row, so that records signed with an earlier key keep verifying.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import * as z from "zod";
import { BatonError } from "../base/errors.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { signerOf, verifySignature } from "../base/signing-keys.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { type AgentRow, type NewMemory, parseText } from "../store/rows.ts";
import {
  type AgentKey,
  KEYS_BRANCH,
  type KeyEvent,
  KeyHistory,
  keyEventOf,
  rotationDigest,
} from "../store/verify/key-history.ts";
import { publicVisibility } from "../store/visibility.ts";
import { RETRY, retryWrite } from "../workspace/retry.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { registerAudited } from "./audit/register-audited.ts";
import { type AuthoredRecord, writeRecord } from "./record.ts";
import { redactSecrets } from "./redaction/secret-policy.ts";
import { systemAuthor } from "./system-author.ts";

const Hex = z.string().regex(/^[0-9a-f]+$/, { error: "must be hex, in lower case" });
const PublicKey = Hex.refine(isPublicKey, {
  error: "must be an Ed25519 public key (SPKI, hex), as publicKeyOf() returns it",
});
const Reason = z.string().min(1).max(FORMAT_LIMITS.lineLength);

/** Input of `hub.agents.rotateKey()`. */
export const KeyRotationSchema = z.strictObject({
  /** The new public key: Ed25519, SPKI in hex. */
  publicKey: PublicKey,
  /** The previous key's signature, from `signRotation()`. Without it, only an administrator can rotate. */
  signature: Hex.optional(),
  reason: Reason.optional(),
});
export type KeyRotation = z.input<typeof KeyRotationSchema>;

/** Input of `hub.agents.revokeKey()`. */
export const KeyRevocationSchema = z.strictObject({
  /** The key to revoke. Default: the current key. */
  publicKey: PublicKey.optional(),
  /** From this time on (ms since the epoch), its signatures count for nothing. Default: now. */
  since: z.int().min(0).optional(),
  reason: Reason.optional(),
});
export type KeyRevocation = z.input<typeof KeyRevocationSchema>;

function isPublicKey(text: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(text, "hex"), type: "spki", format: "der" });
    return key.asymmetricKeyType === "ed25519";
  } catch {
    return false;
  }
}

/**
 * Signs the replacement of an agent's key with the current key, for `hub.agents.rotateKey()`. Both private
 * keys stay with the caller. Throws `invalid_input` for any other kind of key.
 */
export function signRotation(of: {
  readonly workspace: string;
  readonly agent: string;
  /** The current private key of the agent. */
  readonly key: string | KeyObject;
  /** The new private key of the agent. */
  readonly newKey: string | KeyObject;
}): { publicKey: string; signature: string } {
  const { workspace, agent } = of;
  const signer = signerOf(of.key);
  const { publicKey } = signerOf(of.newKey);
  const digest = rotationDigest({ workspace, agent, previous: signer.publicKey, publicKey });
  return { publicKey, signature: signer.sign(digest) };
}

/** Returns the keys of an agent, oldest first. */
export async function keysOf(workspace: Workspace, agent: string): Promise<readonly AgentKey[]> {
  const { store, name } = workspace;
  const rows = await store.recentMemories({
    workspace: name,
    sight: publicVisibility(KEYS_BRANCH),
    filter: { agent },
    limit: END,
  });
  const history = new KeyHistory(name);
  for (const row of rows.toReversed()) {
    const event = keyEventOf(parseText<AuthoredRecord>(row));
    if (event !== undefined) history.add(event, row.storedAt);
  }
  return history.keysOf(agent);
}

/** More changes of keys than an agent will have; each is a call of an administrator or of the agent. */
const END = 100_000;

/** Returns the record of a change of a key. Its author is the agent whose key it is. */
export function keyRecord(workspace: Workspace, event: KeyEvent): NewMemory {
  const { ids, clock, limits } = workspace;
  const { action, agent } = event;
  const author = { agent, instance: ids.mint("session") };
  const data = Object.fromEntries(Object.entries(event).filter(([, value]) => value !== undefined));
  const content = `The key of ${agent} was ${action}.`;
  const pen = { ids, now: clock.now(), limits, branch: KEYS_BRANCH };
  return writeRecord(author, { type: "key", content, data }, pen).record;
}

/** What a change of a key does: its event, and the status the agent gets. */
interface KeyChange {
  readonly event: Omit<KeyEvent, "agent">;
  readonly publicKey?: string;
  readonly status?: AgentRow["status"];
}

type Change = (row: AgentRow, keys: readonly AgentKey[]) => KeyChange;

/** Changes the key of an agent, by compare-and-set on its row; returns its keys. */
async function changeKey(
  workspace: Workspace,
  findRow: () => Promise<AgentRow>,
  change: Change,
): Promise<readonly AgentKey[]> {
  return retryWrite({ what: "The agent was changed", path: "agent" }, async () => {
    const current = await findRow();
    const { digest: _d, keyedAt: _k, revision: _r, ...row } = current;
    const { event, ...changes } = change(current, await keysOf(workspace, row.id));
    const outcome = await registerAudited(workspace, {
      author: await systemAuthor(workspace),
      action: event.action === "revoked" ? "agents.revokeKey" : "agents.rotateKey",
      current,
      agent: { ...row, ...changes },
      key: keyRecord(workspace, { ...event, agent: row.id }),
    });
    return outcome.kind === "registered" ? keysOf(workspace, row.id) : RETRY;
  });
}

/** Replaces the key of an agent. Without a signature of the previous key, the caller is an administrator. */
export async function rotateKey(
  workspace: Workspace,
  findRow: () => Promise<AgentRow>,
  { rotation, by }: { readonly rotation: KeyRotation; readonly by: string | undefined },
): Promise<readonly AgentKey[]> {
  const { publicKey, signature, reason } = parseOrThrow(
    KeyRotationSchema,
    await redacted(workspace, rotation),
    { code: "invalid_input", what: "The rotation", prefix: "rotation" },
  );
  return changeKey(workspace, findRow, (row, keys) => {
    const previous = row.publicKey;
    if (previous === "") throw noKey(row.id);
    if (keys.some((key) => key.publicKey === publicKey)) throw usedBefore(row.id);
    const revoked = keys.at(-1)?.revoked !== undefined;
    if (signature !== undefined) {
      const { name } = workspace;
      const digest = rotationDigest({ workspace: name, agent: row.id, previous, publicKey });
      if (revoked || !verifySignature(previous, digest, signature))
        throw notAuthorized(row.id, revoked);
    }
    const who = signature === undefined ? { by } : { signature };
    const event = { action: "rotated" as const, publicKey, previous, reason, ...who };
    return { event, publicKey, ...(revoked && { status: "active" as const }) };
  });
}

/** Revokes a key. If it is the current one, the agent is disabled until it gets another key. */
export async function revokeKey(
  workspace: Workspace,
  findRow: () => Promise<AgentRow>,
  { revocation, by }: { readonly revocation: KeyRevocation; readonly by: string | undefined },
): Promise<readonly AgentKey[]> {
  const { publicKey, since, reason } = parseOrThrow(
    KeyRevocationSchema,
    await redacted(workspace, revocation),
    { code: "invalid_input", what: "The revocation", prefix: "revocation" },
  );
  return changeKey(workspace, findRow, (row, keys) => {
    const key = publicKey ?? row.publicKey;
    if (key === "") throw noKey(row.id);
    if (!keys.some((each) => each.publicKey === key)) throw unknownKey(row.id);
    const event = { action: "revoked" as const, publicKey: key, since, reason, by };
    return { event, ...(key === row.publicKey && { status: "disabled" as const }) };
  });
}

async function redacted<Given extends { readonly reason?: string | undefined }>(
  workspace: Workspace,
  given: Given,
): Promise<Given> {
  const { reason } = Object(given) as { readonly reason?: unknown };
  if (typeof reason !== "string") return given;
  return { ...given, reason: (await redactSecrets(workspace, { reason })).reason };
}

const noKey = (agent: string): BatonError =>
  new BatonError("invalid_input", {
    message: `Agent "${agent}" has no key.`,
    path: "agent",
    hint: "An agent gets its first key when it is registered with one, where the store is.",
  });

const unknownKey = (agent: string): BatonError =>
  new BatonError("invalid_input", {
    message: `Agent "${agent}" never had this key.`,
    path: "revocation.publicKey",
    hint: `hub.agents.keys("${agent}") lists its keys.`,
  });

const usedBefore = (agent: string): BatonError =>
  new BatonError("invalid_input", {
    message: `Agent "${agent}" has or had this key; a key is used for one span of time.`,
    path: "rotation.publicKey",
    hint: "Create a new key with generateKey().",
  });

const notAuthorized = (agent: string, revoked: boolean): BatonError =>
  new BatonError("identity_mismatch", {
    message: revoked
      ? `The current key of agent "${agent}" is revoked and authorizes nothing.`
      : `The rotation is not signed by the current key of agent "${agent}".`,
    path: "rotation.signature",
    hint: "Sign it with the current key (signRotation), or have an administrator rotate without a signature.",
  });

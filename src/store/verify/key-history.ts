/**
 * The history of the agents' signing keys: records on a chain of its own, which say when a key was set,
 * replaced or revoked, and who authorized it. The agent registry contains only the current key. From this
 * history, verification decides which key a signature may have been made with, and when.
 */
import { sha256 } from "../../base/digest.ts";
import { verifySignature } from "../../base/signing-keys.ts";

/** The chain of these records: not visible to any reader, never pruned, and not a valid branch name. */
export const KEYS_BRANCH = "#keys";

/** One change of an agent's key, as a record of this chain contains it. */
export interface KeyEvent {
  readonly action: "set" | "rotated" | "revoked";
  readonly agent: string;
  /** The agent or administrator that changed the key. Of a rotation: absent if the previous key signed it. */
  readonly by?: string | undefined;
  /** The key that is set or revoked (Ed25519, SPKI in hex). */
  readonly publicKey: string;
  /** The key that a rotation replaces. */
  readonly previous?: string | undefined;
  readonly reason?: string | undefined;
  /** Signature of `rotationDigest()` by the previous key. */
  readonly signature?: string | undefined;
  /** From this store time on, signatures of a revoked key count for nothing. */
  readonly since?: number | undefined;
}

/** One key of an agent, with the time in which it was valid. */
export interface AgentKey {
  /** Ed25519, SPKI in hex. */
  readonly publicKey: string;
  /** When it was set, in store time. */
  readonly since: number;
  /** When another key replaced it; absent: it is the current key. */
  readonly until?: number;
  /** "registration": the first key. "previous-key": a rotation signed by it. "admin": an administrator. */
  readonly authorizedBy: "registration" | "previous-key" | "admin";
  /** The administrator, if the hub knows its name. */
  readonly by?: string;
  /** Present if it was revoked: from `since` on, its signatures count for nothing. */
  readonly revoked?: {
    readonly at: number;
    readonly since: number;
    readonly by?: string;
    readonly reason?: string;
  };
}

/** Returns the digest that the previous key signs to authorize a rotation. */
export function rotationDigest(rotation: {
  readonly workspace: string;
  readonly agent: string;
  readonly previous: string;
  readonly publicKey: string;
}): string {
  const { workspace, agent, previous, publicKey } = rotation;
  return sha256(JSON.stringify(["baton key rotation", workspace, agent, previous, publicKey]));
}

/** Returns what a record of this chain says; undefined if it contains anything else. */
export function keyEventOf(authored: { readonly data?: unknown }): KeyEvent | undefined {
  const event = (authored.data ?? {}) as Partial<KeyEvent>;
  const isEvent =
    (event.action === "set" || event.action === "rotated" || event.action === "revoked") &&
    typeof event.agent === "string" &&
    typeof event.publicKey === "string";
  return isEvent ? (event as KeyEvent) : undefined;
}

/** The keys of all agents of a workspace, built from the records of the chain in their order. */
export class KeyHistory {
  readonly #workspace: string;
  readonly #keys = new Map<string, AgentKey[]>();

  constructor(workspace: string) {
    this.#workspace = workspace;
  }

  /** Adds the next event. Returns why it is not valid; undefined if it is. */
  add(event: KeyEvent, at: number): string | undefined {
    const keys = this.#keys.get(event.agent) ?? [];
    this.#keys.set(event.agent, keys);
    const { by } = event;
    const who = by === undefined ? {} : { by };
    switch (event.action) {
      case "set":
        keys.push({ publicKey: event.publicKey, since: at, authorizedBy: "registration" });
        return keys.length === 1 ? undefined : `sets a first key, but ${event.agent} has one`;
      case "rotated":
        return this.#rotate(keys, event, at);
      case "revoked": {
        const { since = at, reason } = event;
        const i = keys.findIndex(({ publicKey }) => publicKey === event.publicKey);
        const revoked = { at, since, ...who, ...(reason === undefined ? {} : { reason }) };
        const key = keys[i];
        if (key === undefined) return `revokes a key that ${event.agent} never had`;
        keys[i] = { ...key, revoked };
        return undefined;
      }
    }
  }

  #rotate(keys: AgentKey[], event: KeyEvent, at: number): string | undefined {
    const { agent, by, previous = "", publicKey, signature } = event;
    const last = keys.pop();
    if (last !== undefined) keys.push({ ...last, until: at });
    const authorizedBy = signature === undefined ? "admin" : "previous-key";
    const who = by === undefined ? {} : { by };
    keys.push({ publicKey, since: at, authorizedBy, ...who });
    if (last?.publicKey !== previous) return `replaces a key that was not the key of ${agent}`;
    if (signature === undefined) return undefined;
    const digest = rotationDigest({ workspace: this.#workspace, agent, previous, publicKey });
    return verifySignature(previous, digest, signature)
      ? undefined
      : `is not signed by the previous key of ${agent}`;
  }

  /** Returns the keys of an agent, oldest first. */
  keysOf(agent: string): readonly AgentKey[] {
    return this.#keys.get(agent) ?? [];
  }

  /** Returns the current key of an agent; empty if it never had one. */
  currentKey(agent: string): string {
    return this.keysOf(agent).at(-1)?.publicKey ?? "";
  }

  /** Returns the keys that replaced another one on the authority of a key that was compromised by then. */
  *doubtfulRotations(): Iterable<{ readonly agent: string; readonly key: AgentKey }> {
    for (const [agent, keys] of this.#keys) {
      for (const [i, key] of keys.entries()) {
        const { revoked } = keys[i - 1] ?? {};
        if (key.authorizedBy === "previous-key" && revoked && key.since >= revoked.since)
          yield { agent, key };
      }
    }
  }

  /**
   * Returns why a record of the agent cannot have been signed with this key (empty: unsigned) at this time;
   * undefined if it can. In the millisecond of a change both keys count. A key is accepted before it was
   * set, because the clock of the store can go back.
   */
  fault(agent: string, key: string, storedAt: number): string | undefined {
    const keys = this.keysOf(agent);
    const first = keys[0];
    if (key === "") {
      return first !== undefined && storedAt > first.since
        ? `is missing: ${agent} had a key by then`
        : undefined;
    }
    const used = keys.find(({ publicKey }) => publicKey === key);
    if (used === undefined) return `was made with a key that ${agent} never had`;
    if (used.revoked !== undefined && storedAt >= used.revoked.since) {
      const since = new Date(used.revoked.since).toISOString();
      return `was made with a key of ${agent} that was revoked, compromised since ${since}`;
    }
    if (used.until !== undefined && storedAt > used.until) {
      return `was made with a key of ${agent} that had been replaced`;
    }
    return undefined;
  }
}

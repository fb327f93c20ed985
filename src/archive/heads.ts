/**
 * Heads: the newest position and link of every chain of a workspace at one time. A link fixes everything
 * before it. A head that is kept outside the store, out of reach of those who can write the store, shows later
 * whether a chain was cut off or computed anew; a signature shows which hub or agent vouches for it.
 */
import type { KeyObject } from "node:crypto";
import * as z from "zod";
import { canonicalJson, sha256 } from "../base/digest.ts";
import { BatonError } from "../base/errors.ts";
import { signerOf, verifySignature } from "../base/signing-keys.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import type { ChainPoint, Problem } from "../store/verify-report.ts";
import { storeTime } from "../workspace/store-time.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** The heads of all chains of a workspace at one time. */
export interface WorkspaceHead {
  /** Version of this format. */
  readonly version: 1;
  readonly workspace: string;
  /** Store time in milliseconds. */
  readonly at: number;
  /** How many records all chains had, including pruned ones. */
  readonly records: number;
  /**
   * The newest record of each chain. In a file of heads, only the chains that have grown since the line
   * before.
   */
  readonly chains: readonly ChainPoint[];
  /** In a file of heads: the digest of the line before. */
  readonly previous?: string | undefined;
  /** SHA-256 of the canonical JSON of the fields above. */
  readonly digest: string;
  /** The key that signed the digest (Ed25519, SPKI in hex). */
  readonly key?: string | undefined;
  readonly signature?: string | undefined;
}

const Hash = z.string().regex(/^[0-9a-f]{64}$/, { error: "must be a SHA-256 digest in hex" });

export const WorkspaceHeadSchema = z.strictObject({
  version: z.literal(1),
  workspace: z.string(),
  at: z.int().min(0),
  records: z.int().min(0),
  chains: z.array(z.strictObject({ branch: z.string(), seq: z.int().min(1), link: Hash })),
  previous: Hash.optional(),
  digest: Hash,
  key: z.string().optional(),
  signature: z.string().optional(),
});

/** Options of `hub.verify()`. */
export const VerifySchema = z.strictObject({
  /** Heads that were kept outside the store; every chain must still contain them. */
  expect: z.union([WorkspaceHeadSchema, z.array(WorkspaceHeadSchema)]).optional(),
  /** Public keys (Ed25519, SPKI in hex). With them, each expected head must be signed by one of them. */
  publicKeys: z.array(z.string()).optional(),
});

/** Returns the head of the workspace now. */
export async function readHead(workspace: Workspace): Promise<WorkspaceHead> {
  const { store, name } = workspace;
  const heads = (await store.listHeads(name)).filter(({ seq }) => seq > 0);
  return withDigest({
    version: 1,
    workspace: name,
    at: await storeTime(workspace),
    records: heads.reduce((sum, { seq }) => sum + seq, 0),
    chains: heads.map(({ branch, seq, link }) => ({ branch, seq, link })),
  });
}

/**
 * Returns the head as the next line of a file: linked to the line before, and only with the chains whose link
 * is not the one in `links`. Unsigned, because it is another head.
 */
export function followingHead(
  { version, workspace, at, records, chains }: WorkspaceHead,
  previous: string | undefined,
  links: ReadonlyMap<string, string>,
): WorkspaceHead {
  const grown = chains.filter(({ branch, link }) => links.get(branch) !== link);
  const linked = previous === undefined ? {} : { previous };
  return withDigest({ version, workspace, at, records, chains: grown, ...linked });
}

type Unsigned = Omit<WorkspaceHead, "digest" | "key" | "signature">;

const withDigest = (head: Unsigned): WorkspaceHead => ({ ...head, digest: digestOf(head) });

function digestOf({ version, workspace, at, records, chains, previous }: Unsigned): string {
  const covered = { version, workspace, at, records, chains, previous };
  return sha256(canonicalJson(covered, "invalid_input"));
}

/** Returns the head signed with an Ed25519 private key, which stays with the caller. */
export function signHead(head: WorkspaceHead, key: string | KeyObject): WorkspaceHead {
  const { publicKey, sign } = signerOf(key);
  return { ...head, key: publicKey, signature: sign(head.digest) };
}

/**
 * Parses one head, or the lines of a file of heads. A line that is not JSON was only partly written; it is
 * left out like a line that is missing, which the line after it shows. Throws `invalid_input`.
 */
export function parseHeads(text: string): WorkspaceHead[] {
  const single = jsonOf(text);
  const values =
    single === undefined ? text.split("\n").flatMap((line) => jsonOf(line) ?? []) : [single].flat();
  if (values.length === 0) throw noHead();
  return parseOrThrow(z.array(WorkspaceHeadSchema), values, {
    code: "invalid_input",
    what: "The file of heads",
    prefix: "expect",
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is expected of the chains, and what is wrong with the heads themselves. */
export interface CheckedHeads {
  readonly points: readonly ChainPoint[];
  readonly problems: readonly Problem[];
}

/** Checks heads: their digests, signatures and order. Only heads without a problem are expected. */
export function checkHeads(
  workspace: string,
  heads: readonly WorkspaceHead[],
  publicKeys: readonly string[] | undefined,
): CheckedHeads {
  const problems: Problem[] = [];
  const points: ChainPoint[] = [];
  for (const [i, head] of heads.entries()) {
    const fault = faultOf(workspace, head, publicKeys) ?? orderFault(head, heads[i - 1]);
    const record = `head ${new Date(head.at).toISOString()}`;
    if (fault === undefined) points.push(...head.chains);
    else problems.push({ record, ...fault });
  }
  return { points, problems };
}

type Fault = Omit<Problem, "record"> | undefined;

function faultOf(
  workspace: string,
  head: WorkspaceHead,
  publicKeys: readonly string[] | undefined,
): Fault {
  const { key, signature } = head;
  if (head.digest !== digestOf(head))
    return { field: "digest", message: "does not match the head: it was changed" };
  if (head.workspace !== workspace)
    return { field: "workspace", message: `is the head of workspace "${head.workspace}"` };
  if (key === undefined || signature === undefined) {
    if (publicKeys === undefined) return undefined;
    return { field: "signature", message: "is missing, but public keys are required" };
  }
  if (publicKeys !== undefined && !publicKeys.includes(key))
    return { field: "key", message: "is not one of the given public keys" };
  if (verifySignature(key, head.digest, signature)) return undefined;
  return { field: "signature", message: "does not match the head and its key" };
}

function orderFault({ previous }: WorkspaceHead, before: WorkspaceHead | undefined): Fault {
  if (before === undefined || previous === undefined || previous === before.digest)
    return undefined;
  return { field: "previous", message: "does not follow the line before: a line is missing" };
}

const noHead = (): BatonError =>
  new BatonError("invalid_input", {
    message: "The expected head is neither a head nor a file with heads.",
    path: "expect",
    hint: "Pass what `baton head` printed, or the file that it wrote.",
  });

/** Throws `invalid_input` for an empty list, with which no head would be accepted. */
export function checkPublicKeys(publicKeys: readonly string[] | undefined): void {
  if (publicKeys?.length !== 0) return;
  throw new BatonError("invalid_input", {
    message: "The list of public keys is empty.",
    path: "publicKeys",
    hint: "Pass at least one public key, or omit publicKeys.",
  });
}

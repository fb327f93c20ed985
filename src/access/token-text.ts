/**
 * The text of a token: `baton_` and, in base64url, a version, the token's id, 32 random bytes, the
 * workspace's name and a checksum. So the hub finds the row without a table of all workspaces, scanners
 * for secrets know one by its beginning, and a mistyped one is refused without a look-up: the checksum
 * is a CRC, which misses no error within 32 bits, so no wrong letter and no two that changed places.
 *
 * What is kept of a token is SHA-256 over everything before the checksum. The workspace and the id are
 * in it, so a row that was copied to another workspace, or to another id, fits no text. The random
 * bytes are as many as the digest has: there is nothing to guess, and so nothing to slow down.
 */
import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { ID_PREFIXES } from "../base/ids.ts";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { Name } from "../envelope/schema.ts";

const TOKEN_PREFIX = "baton_";
const VERSION = 1;
const ID_BYTES = 16;
const SECRET_BYTES = 32;
const CHECKSUM_BYTES = 4;
const WORKSPACE_AT = 1 + ID_BYTES + SECRET_BYTES;
/** A name's characters have at most three bytes each (of four, there are two). */
const MAX_BYTES = WORKSPACE_AT + 3 * FORMAT_LIMITS.nameLength + CHECKSUM_BYTES;
const MAX_LENGTH = TOKEN_PREFIX.length + Math.ceil((MAX_BYTES * 4) / 3);

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export interface GeneratedToken {
  readonly text: string;
  readonly digest: Buffer;
}

/** A new secret for this id. The text is nowhere but in the answer. */
export function generateToken(workspace: string, id: string): GeneratedToken {
  const body = Buffer.concat([
    Buffer.of(VERSION),
    Buffer.from(id.slice(ID_PREFIXES.token.length).replaceAll("-", ""), "hex"),
    randomBytes(SECRET_BYTES),
    Buffer.from(workspace, "utf8"),
  ]);
  const text = TOKEN_PREFIX + Buffer.concat([body, checksumOf(body)]).toString("base64url");
  return { text, digest: digestOf(body) };
}

export interface ParsedToken {
  readonly workspace: string;
  readonly id: string;
  readonly digest: Buffer;
}

/** Undefined for what was never a token's text. */
export function parseToken(text: unknown): ParsedToken | undefined {
  if (typeof text !== "string" || !text.startsWith(TOKEN_PREFIX) || text.length > MAX_LENGTH) {
    return undefined;
  }
  const written = text.slice(TOKEN_PREFIX.length);
  const bytes = Buffer.from(written, "base64url");
  // Node reads over what is no base64url: each token has one text, and no other.
  if (bytes.toString("base64url") !== written) return undefined;
  if (bytes.length <= WORKSPACE_AT + CHECKSUM_BYTES || bytes[0] !== VERSION) return undefined;
  const body = bytes.subarray(0, -CHECKSUM_BYTES);
  if (!checksumOf(body).equals(bytes.subarray(-CHECKSUM_BYTES))) return undefined;
  const workspace = workspaceNameOf(body.subarray(WORKSPACE_AT));
  if (workspace === undefined) return undefined;
  return { workspace, id: idOf(body.subarray(1, 1 + ID_BYTES)), digest: digestOf(body) };
}

function checksumOf(body: Buffer): Buffer {
  const sum = Buffer.alloc(CHECKSUM_BYTES);
  sum.writeUInt32BE(crc32(body));
  return sum;
}

const digestOf = (body: Buffer): Buffer => createHash("sha256").update(body).digest();

function idOf(bytes: Buffer): string {
  const hex = bytes.toString("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${ID_PREFIXES.token}${[...parts, hex.slice(20)].join("-")}`;
}

/** Anybody can compute a checksum: what stands before it is not to be trusted. */
function workspaceNameOf(bytes: Buffer): string | undefined {
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    return undefined; // No UTF-8.
  }
  return Name.safeParse(text).success ? text : undefined;
}

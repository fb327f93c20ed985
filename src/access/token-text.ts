/**
 * Generates and parses tokens: `baton_` followed by, in base64url, a version, the id of the token, 32 random
 * bytes, the name of the workspace and a checksum. The workspace and id in it let the hub find the row
 * without a table of all workspaces; the prefix lets secret scanners recognize a token. A mistyped token is
 * refused without a query: the checksum is a CRC-32, which detects every error within 32 consecutive bits,
 * such as a wrong letter or two adjacent letters that were swapped.
 *
 * The stored digest is the SHA-256 of everything before the checksum. It covers workspace and id, so a row
 * that was copied to another workspace or id matches no token. There are as many random bytes as the digest
 * has, so guessing is infeasible and a slow hash is unnecessary.
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
/** A character of a name has at most three bytes per UTF-16 unit (four bytes for a surrogate pair). */
const MAX_BYTES = WORKSPACE_AT + 3 * FORMAT_LIMITS.nameLength + CHECKSUM_BYTES;
const MAX_LENGTH = TOKEN_PREFIX.length + Math.ceil((MAX_BYTES * 4) / 3);

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A new token: its text, and the digest to store. */
export interface GeneratedToken {
  readonly text: string;
  readonly digest: Buffer;
}

/** Generates a token with a new secret for this id. The text exists only in the result. */
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

/** The parts of a token. */
export interface ParsedToken {
  readonly workspace: string;
  readonly id: string;
  readonly digest: Buffer;
}

/** Parses the text of a token; undefined if it is not one. */
export function parseToken(text: unknown): ParsedToken | undefined {
  if (typeof text !== "string" || !text.startsWith(TOKEN_PREFIX) || text.length > MAX_LENGTH) {
    return undefined;
  }
  const written = text.slice(TOKEN_PREFIX.length);
  const bytes = Buffer.from(written, "base64url");
  // Node ignores characters that are not base64url; this check makes each token have exactly one text.
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

/** Parses the workspace name. Anyone can compute a checksum, so what precedes it is not trusted. */
function workspaceNameOf(bytes: Buffer): string | undefined {
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    return undefined; // Not valid UTF-8.
  }
  return Name.safeParse(text).success ? text : undefined;
}

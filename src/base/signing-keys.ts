/** Ed25519 signing keys: an agent with a key signs the digest of every record it writes. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { BatonError } from "./errors.ts";

/** Signs digests with the private key of one agent. */
export interface Signer {
  /** The public key as SPKI in hex, as the agent registry stores it. */
  readonly publicKey: string;
  /** Returns the signature of a digest (both hex). */
  sign(digest: string): string;
}

/** Returns a new Ed25519 private key as PEM (PKCS #8), to register an agent with. */
export function generateKey(): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  return privateKey.export({ type: "pkcs8", format: "pem" }) as string;
}

/**
 * Returns a signer for a private key, given as PEM text or a `KeyObject`. Throws `invalid_input` for any
 * other key.
 */
export function signerOf(key: string | KeyObject): Signer {
  const privateKey = readPrivateKey(key);
  const publicKey = createPublicKey(privateKey)
    .export({ type: "spki", format: "der" })
    .toString("hex");
  return {
    publicKey,
    sign: (digest) => sign(null, Buffer.from(digest, "hex"), privateKey).toString("hex"),
  };
}

/** Returns the public key of an Ed25519 private key (PEM or KeyObject), as SPKI in hex. */
export const publicKeyOf = (key: string | KeyObject): string => signerOf(key).publicKey;

/** Returns whether a text is an Ed25519 private key as PEM. */
export function isPrivateKey(text: string): boolean {
  try {
    return createPrivateKey(text).asymmetricKeyType === "ed25519";
  } catch {
    return false;
  }
}

function readPrivateKey(key: string | KeyObject): KeyObject {
  let privateKey: KeyObject | undefined;
  try {
    privateKey = typeof key === "string" ? createPrivateKey(key) : key;
  } catch {
    // Falls through to the one clear error below; the parser's message could contain key material.
  }
  if (privateKey?.type !== "private" || privateKey.asymmetricKeyType !== "ed25519") {
    throw new BatonError("invalid_input", {
      message: "The key is not an Ed25519 private key.",
      path: "key",
      hint: "Pass PEM text (PKCS #8) or a KeyObject; generateKey() creates one.",
    });
  }
  return privateKey;
}

/**
 * Returns true if the signature matches the digest; false for a malformed key or signature. Signatures are
 * hex rather than base64: two base64 texts can encode the same bytes, so a changed character could go
 * unnoticed.
 */
export function verifySignature(publicKey: string, digest: string, signature: string): boolean {
  const bytes = Buffer.from(signature, "hex");
  if (bytes.toString("hex") !== signature) return false;
  try {
    const key = createPublicKey({
      key: Buffer.from(publicKey, "hex"),
      type: "spki",
      format: "der",
    });
    return verify(null, Buffer.from(digest, "hex"), key, bytes);
  } catch {
    return false; // The public key is malformed.
  }
}

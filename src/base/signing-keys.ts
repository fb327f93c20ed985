/** Ed25519 keys of agents: an agent with a key signs the digest of everything it writes. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { BatonError } from "./errors.ts";

export interface Signer {
  /** SPKI, hex: what the registry keeps. */
  readonly publicKey: string;
  sign(digest: string): string;
}

/** A new private key as PEM, for an agent that is to be keyed. */
export function generateKey(): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  return privateKey.export({ type: "pkcs8", format: "pem" }) as string;
}

/** A signer from a private key: PEM text or a `KeyObject`. */
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

function readPrivateKey(key: string | KeyObject): KeyObject {
  let privateKey: KeyObject | undefined;
  try {
    privateKey = typeof key === "string" ? createPrivateKey(key) : key;
  } catch {
    // Falls through to the one clear error below; the parser's message could repeat key material.
  }
  if (privateKey?.type !== "private" || privateKey.asymmetricKeyType !== "ed25519") {
    throw new BatonError("invalid_input", {
      message: "The agent's key is not an Ed25519 private key.",
      path: "key",
      hint: "Pass PEM text (PKCS #8) or a KeyObject; generateKey() makes one.",
    });
  }
  return privateKey;
}

/** Hex rather than base64: two base64 texts can mean the same bytes, and a flip go unnoticed. */
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
    return false; // A key that cannot even be read vouches for nothing.
  }
}

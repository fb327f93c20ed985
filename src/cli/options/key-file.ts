/** Reads the keys that options name: private keys from files, public keys from files or as hex. */
import { readFileSync } from "node:fs";
import { usageError } from "../usage-error.ts";

/** Returns the content of a file that an option names. Throws if it cannot be read. */
export function readOptionFile(option: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message = `Cannot read the file ${file} of ${option} (${code}).`;
    throw usageError(option, message, "Check the path.");
  }
}

/** Returns the private key (PEM) in a file; undefined without a file. Throws unless it is an Ed25519 key. */
export async function readPrivateKey(
  option: string,
  file: string | undefined,
): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const { isPrivateKey } = await import("../../base/signing-keys.ts");
  const key = readOptionFile(option, file);
  if (isPrivateKey(key)) return key;
  const message = `The file ${file} of ${option} has no Ed25519 private key.`;
  throw usageError(option, message, `Create one: openssl genpkey -algorithm ed25519 -out ${file}`);
}

/** Returns a public key (SPKI in hex), given as hex or as a file with hex, a public or a private key (PEM). */
export async function readPublicKey(option: string, value: string): Promise<string> {
  if (/^[0-9a-f]{88}$/.test(value)) return value;
  const text = readOptionFile(option, value).trim();
  if (/^[0-9a-f]{88}$/.test(text)) return text;
  const { createPublicKey } = await import("node:crypto");
  try {
    const key = createPublicKey(text);
    if (key.asymmetricKeyType === "ed25519")
      return key.export({ type: "spki", format: "der" }).toString("hex");
  } catch {
    // Falls through to the error below.
  }
  const message = `The file ${value} of ${option} has no Ed25519 key.`;
  throw usageError(option, message, "Pass 88 hex digits, or a file with them or with a key (PEM).");
}

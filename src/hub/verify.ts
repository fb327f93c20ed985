/** `hub.verify()`: reads the whole workspace, and compares it with heads that were kept outside the store. */
import { checkHeads, checkPublicKeys, VerifySchema, type WorkspaceHead } from "../archive/heads.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import type { VerifyProgress, VerifyReport } from "../store/verify-report.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** Options of `hub.verify()`. */
export interface VerifyOptions {
  /**
   * Heads that were kept outside the store (`hub.archive.head()`): every chain must still contain them. Shows
   * whether a chain was cut off or computed anew.
   */
  readonly expect?: WorkspaceHead | readonly WorkspaceHead[] | undefined;
  /** With these public keys (Ed25519, SPKI in hex), each expected head must be signed by one of them. */
  readonly publicKeys?: readonly string[] | undefined;
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined;
}

/** Verifies a workspace. Throws `invalid_input` for invalid options. */
export async function verifyHub(
  { name, store }: Workspace,
  { onProgress, ...options }: VerifyOptions,
): Promise<VerifyReport> {
  const { expect = [], publicKeys } = parseOrThrow(VerifySchema, options, {
    code: "invalid_input",
    what: "The options",
  });
  checkPublicKeys(publicKeys);
  const heads = checkHeads(name, [expect].flat(), publicKeys);
  const report = await store.verify(name, onProgress, heads.points);
  return { ...report, problems: [...heads.problems, ...report.problems] };
}

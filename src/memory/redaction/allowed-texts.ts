/**
 * Texts that an author declared harmless after they were redacted: an order number beside the word "token", a
 * checksum named "key". Only ambiguous findings can be declared, those that the context alone suggests; what
 * has the format of a provider stays redacted. The workspace stores a digest of the text, which agent declared
 * it and why. From the next call on the text is stored as written, also where the policy is "refuse".
 */
import * as z from "zod";
import { sha256 } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { findSecrets } from "../../envelope/secrets.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { changeSetting } from "../audit/change-setting.ts";

const ALLOWED_TEXT = "allowed-text";
/** Different texts of one input that are looked up; further ones are redacted. */
const MAX_LOOKUPS = 64;

/** Input of allowText(). */
export const AllowTextSchema = z.strictObject({
  /** The text as it was before it was redacted, without anything around it. */
  text: z.string().min(6).max(512),
  reason: z.string().min(1).max(FORMAT_LIMITS.lineLength),
});

const nameOf = ({ name }: Workspace, text: string): string => sha256(JSON.stringify([name, text]));

/**
 * Declares a text harmless; `input.reason` must not contain a secret. Throws `invalid_input` if the text has
 * the format of a secret.
 */
export async function allowText(
  workspace: Workspace,
  agent: string,
  input: z.input<typeof AllowTextSchema>,
): Promise<void> {
  const how = { code: "invalid_input", what: "The text" } as const;
  const { text, reason } = parseOrThrow(AllowTextSchema, input, how);
  const certain = findSecrets(text).find(({ ambiguous }) => ambiguous !== true);
  if (certain !== undefined) {
    throw new BatonError("invalid_input", {
      message: `The text has the format of a secret (${certain.kind}), which cannot be allowed.`,
      path: "text",
      hint: "Only a value that was redacted for the word beside it can be allowed. Store a secret elsewhere and reference it.",
    });
  }
  const entry = { kind: ALLOWED_TEXT, name: nameOf(workspace, text) } as const;
  await changeSetting(workspace, entry, () => ({ value: { by: agent, reason }, by: agent }));
}

/** Returns those of the texts that were declared harmless. */
export async function findAllowedTexts(
  workspace: Workspace,
  texts: Iterable<string>,
): Promise<ReadonlySet<string>> {
  const { store, name } = workspace;
  const asked = [...new Set(texts)].slice(0, MAX_LOOKUPS);
  const entries = await Promise.all(
    asked.map((text) => store.findEntry(name, ALLOWED_TEXT, nameOf(workspace, text))),
  );
  return new Set(asked.filter((_, i) => entries[i] !== undefined));
}

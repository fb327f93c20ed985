/**
 * The retention rules of a workspace: how long traces and events are kept. Memories are never pruned, and a
 * step that another record references stays, with all steps after it. Without rules nothing is pruned, and
 * pruning only runs when it is called (see prune.ts).
 */
import * as z from "zod";
import { parseOrThrow } from "../../envelope/violations.ts";
import { parseText } from "../../store/rows.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { changeSetting } from "../audit/change-setting.ts";

const RETENTION = "retention";
/** The name of the only entry of this kind. */
const RULES = "rules";

const Count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
/** A century; to keep something permanently, omit the rule. */
const Days = z.number().min(0).max(36_525);

/** The rules. A rule that is absent keeps everything. */
export const RetentionSchema = z.strictObject({
  events: z
    .strictObject({
      /** Prunes events older than this. */
      days: Days.optional(),
      /** Keeps at most this many events, the newest. */
      keep: Count.optional(),
    })
    .optional(),
  traces: z
    .strictObject({
      /** Prunes traces with a last step older than this. */
      days: Days.optional(),
      /** Keeps at most this many sessions' traces, those with the latest steps. */
      sessions: Count.optional(),
    })
    .optional(),
});

/** Retention rules as a caller passes them. */
export type RetentionRules = z.input<typeof RetentionSchema>;

/** Returns the rules; empty if none are set. */
export async function retentionRules({ store, name }: Workspace): Promise<RetentionRules> {
  const entry = await store.findEntry(name, RETENTION, RULES);
  return entry === undefined ? {} : parseText({ id: "the retention rules", text: entry.value });
}

/** Replaces all rules; what is not named is kept permanently. */
export async function setRetention(
  workspace: Workspace,
  rules: RetentionRules,
): Promise<RetentionRules> {
  const checked = parseOrThrow(RetentionSchema, rules, {
    code: "invalid_input",
    what: "The rules",
    prefix: "retention",
  });
  await changeSetting(workspace, { kind: RETENTION, name: RULES }, () => ({ value: checked }));
  return checked;
}

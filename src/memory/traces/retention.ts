/**
 * Retention: how long traces and events are kept, as data of the workspace, and carrying it out. What a
 * team remembers is never touched; a step that something refers to stays, with all after it. Without
 * rules nothing is pruned, and nobody prunes by himself.
 */
import * as z from "zod";
import { parseOrThrow } from "../../envelope/violations.ts";
import { parseText } from "../../store/rows.ts";
import { changeEntry } from "../../workspace/entries.ts";
import type { Workspace } from "../../workspace/workspace.ts";

const RETENTION = "retention";
/** One per workspace. */
const RULES = "rules";

const Count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
/** A century: longer is for ever, which is what no rule says. */
const Days = z.number().min(0).max(36_525);

export const RetentionSchema = z.strictObject({
  events: z
    .strictObject({
      /** Older ones go. */
      days: Days.optional(),
      /** So many stay at most, the newest. */
      keep: Count.optional(),
    })
    .optional(),
  traces: z
    .strictObject({
      /** Traces whose last step is older go. */
      days: Days.optional(),
      /** The traces of so many sessions stay at most, those heard of last. */
      sessions: Count.optional(),
    })
    .optional(),
});

export type RetentionRules = z.input<typeof RetentionSchema>;

export async function retentionRules({ store, name }: Workspace): Promise<RetentionRules> {
  const entry = await store.findEntry(name, RETENTION, RULES);
  return entry === undefined ? {} : parseText({ id: "the retention rules", text: entry.value });
}

/** Sets the rules, all of them: what is not named is kept for ever. */
export async function setRetention(
  workspace: Workspace,
  rules: RetentionRules,
): Promise<RetentionRules> {
  const checked = parseOrThrow(RetentionSchema, rules, {
    code: "invalid_input",
    what: "The rules",
    prefix: "retention",
  });
  await changeEntry(workspace, { kind: RETENTION, name: RULES }, () => ({ value: checked }));
  return checked;
}

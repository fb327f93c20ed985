/**
 * Reports the secrets that were removed from stored texts. The mark that replaced a secret is the only record
 * of it: it is written with the text, covered by its digest, exported with it, and the same on every store.
 * The report scans the whole workspace, as `redact` does.
 *
 * A text that was already written with such a mark is listed as well, since the secret was removed before.
 */
import * as z from "zod";
import { assertNever } from "../../base/errors.ts";
import { checkLimit } from "../../base/limits.ts";
import type { DetectedSecret } from "../../envelope/mask-secrets.ts";
import { redactionMark } from "../../envelope/secrets.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { TextOccurrence } from "../../store/store.ts";
import { isRowInScope, type Reader } from "../../store/visibility.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { type RedactionLocation, tryParseText } from "./redaction-finding.ts";

/** Input of reportSecrets(). */
export const SecretsQuerySchema = z.strictObject({
  /** The most findings returned, newest first; all are counted. Default: 100. */
  limit: z.int().positive().default(100),
  /** Only what was stored at or after this time, in ms since the epoch. Default: 0. */
  since: z.int().min(0).default(0),
});

export type SecretsQuery = z.input<typeof SecretsQuerySchema>;

/** A removed secret. */
export interface SecretFinding extends Pick<DetectedSecret, "kind"> {
  /** The field with the mark; absent if the reader may not see the record. */
  readonly path?: string;
  /** The row with the mark. */
  readonly in: RedactionLocation;
  /** When the row was stored, in ms since the epoch; absent if unknown. */
  readonly at?: number;
  /** The agent that wrote it; absent if unknown. */
  readonly by?: string;
}

/** All removed secrets, counted by kind. */
export interface SecretsReport {
  readonly total: number;
  readonly byKind: Readonly<Record<string, number>>;
  /** Newest first, at most `limit`. */
  readonly found: readonly SecretFinding[];
}

/** The beginning of every mark, as stored. */
const MARK_PREFIX = redactionMark("").slice(0, -1);
const MARK_PATTERN = new RegExp(redactionMark("([^\\]]{1,64})").replace("[", "\\["), "g");

/** Scans the workspace for marks of removed secrets. */
export async function reportSecrets(
  workspace: Workspace,
  query: SecretsQuery,
): Promise<SecretsReport> {
  const how = { code: "invalid_input", what: "The query" } as const;
  const { limit, since } = parseOrThrow(SecretsQuerySchema, query, how);
  checkLimit(workspace.limits, "pageSize", { actual: limit, path: "limit" });
  const byKind = new Map<string, number>();
  let found: SecretFinding[] = [];
  let after: string | undefined = "";
  while (after !== undefined) {
    const asked = { workspace: workspace.name, forms: [MARK_PREFIX], after };
    const page = await workspace.store.seekText(asked);
    const more = page.found
      .flatMap((sighting) => marksOf(sighting, workspace.reader))
      .filter((each) => timeOf(each) >= since);
    for (const { kind } of more) byKind.set(kind, (byKind.get(kind) ?? 0) + 1);
    found = [...found, ...more].sort((a, b) => timeOf(b) - timeOf(a)).slice(0, limit);
    after = page.next;
  }
  const total = [...byKind.values()].reduce((sum, count) => sum + count, 0);
  return { total, byKind: Object.fromEntries([...byKind].sort()), found };
}

/** Returns the time of a finding; an unknown time counts as the oldest. */
const timeOf = ({ at = 0 }: SecretFinding): number => at;

function marksOf(sighting: TextOccurrence, reader: Reader): SecretFinding[] {
  const { id, text, at, by: named } = facts(sighting);
  const value = tryParseText<unknown>({ id, text });
  const by = named ?? (value as { readonly agent?: string }).agent ?? "";
  const isHidden = sighting.kind === "memory" && !isOpen(sighting.row, reader);
  return marksIn(value, "").map(({ kind, path }) => ({
    kind,
    ...(isHidden || path === "" ? {} : { path }),
    in: { kind: sighting.kind, id },
    ...(at === 0 ? {} : { at }),
    ...(by === "" ? {} : { by }),
  }));
}

interface Facts {
  readonly id: string;
  readonly text: string;
  /** 0: unknown. */
  readonly at: number;
  /** Undefined: stated in the text; empty: unknown. */
  readonly by?: string;
}

function facts(sighting: TextOccurrence): Facts {
  switch (sighting.kind) {
    case "memory": {
      const { id, text, storedAt: at } = sighting.row;
      return { id, text, at };
    }
    case "envelope": {
      const { id, text, storedAt: at, sender: by } = sighting.row;
      return { id, text, at, by };
    }
    case "attempt": {
      const { delivery, attempt, reason: text, endedAt: at, holder: by } = sighting.row;
      return { id: `${delivery} ${attempt}`, text, at, by };
    }
    case "entry": {
      const { kind, name, value: text, at } = sighting.row;
      return { id: `${kind} ${name}`, text, at, by: "" };
    }
    case "agent": {
      const { id, profile: text, keyedAt: at } = sighting.row;
      return { id, text, at, by: id };
    }
    default:
      return assertNever(sighting);
  }
}

/** Returns whether the reader may see a memory; one that cannot be parsed is hidden from all. */
function isOpen(row: Parameters<typeof isRowInScope>[0], reader: Reader): boolean {
  return tryParseText<unknown>(row) !== undefined && isRowInScope(row, reader);
}

function marksIn(value: unknown, path: string): DetectedSecret[] {
  if (typeof value === "string") {
    const kinds = [...value.matchAll(MARK_PATTERN)].map(([, kind = ""]) => kind);
    return [...new Set(kinds)].map((kind) => ({ kind, path }));
  }
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item, i) => marksIn(item, `${path}[${i}]`));
  return Object.entries(value).flatMap(([key, item]) => {
    const at = path === "" ? key : `${path}.${key}`;
    return [...marksIn(key, at), ...marksIn(item, at)];
  });
}

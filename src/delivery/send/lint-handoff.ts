/**
 * Lints a handoff before it is sent, or an envelope that was sent: reports what could be better, each finding
 * with its place and a fix. Findings that need no query are also returned with every send
 * (context/lint/lint-sent.ts). Only binding rules refuse a handoff (context/lint/lint-settings.ts).
 */

import { BatonError } from "../../base/errors.ts";
import { contentOfDraft, contentOfEnvelope } from "../../context/lint/handoff-content.ts";
import { readLintRules } from "../../context/lint/lint-settings.ts";
import type { Finding, LintSubject, Repeat } from "../../context/lint/rule.ts";
import { runRules } from "../../context/lint/run-rules.ts";
import {
  type CheckedDraft,
  CompiledDraftSchema,
  type Draft,
  type Envelope,
  EnvelopeId,
  receiverOf,
} from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { resolveLedger } from "../../ledger/ledger.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { resolveRoute, routeInputOf } from "../settings/routes.ts";
import { findRepeats, type RepeatQuery } from "./repeats.ts";

/** The findings of a lint. */
export interface LintReport {
  /** True if no finding is an error. */
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

/** Lints a draft without sending it; throws `invalid_envelope` as sending would. */
export async function lintDraft(
  workspace: Workspace,
  sender: { readonly agent: string },
  given: Draft,
): Promise<LintReport> {
  const draft = parseOrThrow(CompiledDraftSchema, given, {
    code: "invalid_envelope",
    what: "The handoff",
  });
  const to = await receiverIn(workspace, sender, draft);
  const repeats = await repeatsOf(workspace, sender, { draft, to });
  return reportOf({ workspace, letter: contentOfDraft(draft), to, given, repeats });
}

async function repeatsOf(
  workspace: Workspace,
  { agent }: { readonly agent: string },
  { draft, to }: Pick<RepeatQuery, "to"> & { readonly draft: CheckedDraft },
): Promise<readonly Repeat[]> {
  const { task } = draft;
  const family = task === undefined ? undefined : await resolveLedger(workspace, task);
  const asked = { agent, task, to, draft, kept: family?.kept, from: family?.from ?? [] };
  return (await findRepeats(workspace, asked, () => true)).repeats;
}

async function receiverIn(
  workspace: Workspace,
  { agent }: { readonly agent: string },
  draft: CheckedDraft,
): Promise<Envelope["to"] | undefined> {
  const to = draft.to ?? (await resolveRoute(workspace, routeInputOf(draft, agent)));
  return typeof to === "string" ? receiverOf(to) : to;
}

/** Lints an envelope that was sent, with the current lint rules. Throws `unknown_envelope`. */
export async function lintEnvelope(workspace: Workspace, id: string): Promise<LintReport> {
  const checked = parseOrThrow(EnvelopeId, id, {
    code: "invalid_input",
    what: "The envelope",
    prefix: "envelope",
  });
  const found = await workspace.store.findEnvelope(workspace.name, checked);
  if (found === undefined) throw unknownEnvelope(workspace, checked);
  const envelope = parseEnvelope(workspace, found.envelope);
  if (envelope.redacted !== undefined) return { ok: true, findings: [] }; // A redacted envelope is empty.
  const letter = contentOfEnvelope(envelope);
  return reportOf({ workspace, letter, to: envelope.to, given: envelope });
}

async function reportOf(subject: LintSubject): Promise<LintReport> {
  const findings = await runRules(subject, await readLintRules(subject.workspace));
  return { ok: findings.every(({ level }) => level !== "error"), findings };
}

function unknownEnvelope({ name }: Workspace, id: string): BatonError {
  return new BatonError("unknown_envelope", {
    message: `Envelope ${id} does not exist in workspace "${name}".`,
    path: "envelope",
    hint: "Check the id and the workspace.",
  });
}

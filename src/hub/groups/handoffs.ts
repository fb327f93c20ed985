/** `hub.handoffs` and `agent.handoffs`: checks of a handoff before and after it is sent, and joins. */
import * as z from "zod";
import { type FileArtifact, fileArtifact } from "../../context/view/artifact-files.ts";
import type { ViewOptions } from "../../context/view/compose.ts";
import type { Worker } from "../../delivery/receive/worker.ts";
import { joinHandoffs } from "../../delivery/send/join-handoffs.ts";
import { type LintReport, lintDraft, lintEnvelope } from "../../delivery/send/lint-handoff.ts";
import { type Preview, preview } from "../../delivery/send/preview.ts";
import type { Draft, DraftOf } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { LocalSent, type Sent } from "../sent.ts";
import type { Call } from "./call.ts";

/** `hub.handoffs`: lints sent handoffs and creates file artifacts. */
export interface HubHandoffs {
  /**
   * Lints a handoff that was sent, by the id of its envelope, against the current records. Throws
   * `unknown_envelope`.
   */
  lintSent(envelope: string): Promise<LintReport>;
  /** Returns a file of the hub's folder (`files`) as an artifact for a handoff, with its current digest. */
  artifact(path: string): Promise<FileArtifact>;
}

/** `agent.handoffs`: lints and previews drafts, and sends joins. */
export interface AgentHandoffs {
  /** Lints a draft and returns the findings, each with a hint. Sends nothing. */
  lint<T extends object = object>(draft: DraftOf<T>): Promise<LintReport>;
  /** Returns the envelope a draft would become and the view its receiver would get. Writes nothing. */
  preview<T extends object = object>(draft: DraftOf<T>, options?: ViewOptions): Promise<Preview<T>>;
  /**
   * Sends a handoff that opens when the handoffs in `of` have completed: all of them (default), `need:
   * "any"`, or a number. It carries their results.
   */
  join<T extends object = object>(
    of: readonly (Sent | string)[],
    draft: DraftOf<T> & { readonly need?: "all" | "any" | number },
  ): Promise<Sent<T>>;
}

/** Returns `hub.handoffs` for a workspace. */
export const hubHandoffs = (workspace: Workspace): HubHandoffs => ({
  lintSent: async (envelope) => lintEnvelope(workspace, envelope),
  async artifact(path) {
    const how = { code: "invalid_input", what: "The path", prefix: "path" } as const;
    return fileArtifact(workspace, parseOrThrow(z.string().min(1), path, how));
  },
});

/** Returns `agent.handoffs` for a session. */
export const agentHandoffs = (workspace: Workspace, self: Worker, call: Call): AgentHandoffs => ({
  lint: (draft) => call(() => lintDraft(workspace, self, draft as Draft)),
  preview: (draft, options = {}) => call(() => preview(workspace, self, draft, options)),
  join: (of, draft) =>
    call(
      async () => new LocalSent(workspace, self, await joinHandoffs(workspace, self, of, draft)),
    ),
});

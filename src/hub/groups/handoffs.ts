/** `hub.handoffs` and `agent.handoffs`: checking a handoff before and after it is sent, and joins. */
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

export interface HubHandoffs {
  /** Lints a handoff that was sent, by its envelope's id, against what is known now. */
  lintSent(envelope: string): Promise<LintReport>;
  /** Returns a file of the hub's folder as an artifact of a handoff, with its digest now. */
  artifact(path: string): Promise<FileArtifact>;
}

export interface AgentHandoffs {
  /** Lints a draft; each finding has a hint. Sends nothing. */
  lint<T extends object = object>(draft: DraftOf<T>): Promise<LintReport>;
  /** Returns the envelope a draft would become and the view its receiver would get. Writes nothing. */
  preview<T extends object = object>(draft: DraftOf<T>, options?: ViewOptions): Promise<Preview<T>>;
  /**
   * Sends a handoff that opens when the handoffs `of` have completed: all of them (the default), `need:
   * "any"`, or a number. It carries their results.
   */
  join<T extends object = object>(
    of: readonly (Sent | string)[],
    draft: DraftOf<T> & { readonly need?: "all" | "any" | number },
  ): Promise<Sent<T>>;
}

export const hubHandoffs = (workspace: Workspace): HubHandoffs => ({
  lintSent: async (envelope) => lintEnvelope(workspace, envelope),
  async artifact(path) {
    const how = { code: "invalid_input", what: "The path", prefix: "path" } as const;
    return fileArtifact(workspace, parseOrThrow(z.string().min(1), path, how));
  },
});

export const agentHandoffs = (workspace: Workspace, self: Worker, call: Call): AgentHandoffs => ({
  lint: (draft) => call(() => lintDraft(workspace, self, draft as Draft)),
  preview: (draft, options = {}) => call(() => preview(workspace, self, draft, options)),
  join: (of, draft) =>
    call(
      async () => new LocalSent(workspace, self, await joinHandoffs(workspace, self, of, draft)),
    ),
});

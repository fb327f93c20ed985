/** The context of an operation for a given caller, for tests that call operations without HTTP. */
import type { Access } from "../../src/access/levels.ts";
import type { LocalHub } from "../../src/hub/hub.ts";
import type { OperationContext } from "../../src/operations/operation.ts";

export interface ActingAs {
  readonly access?: Access;
  /** The calling agent; undefined if none is named. */
  readonly named?: string | undefined;
  readonly session?: string;
  readonly branch?: string;
  readonly key?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: OperationContext["onProgress"];
}

export function actingOn(hub: LocalHub, as: ActingAs = {}): OperationContext {
  const { access = "admin", named, session = "s-1", branch, key, onProgress = () => {} } = as;
  const agent = async () => {
    if (named === undefined) throw new Error("no agent was named");
    const who = await hub.local(named, session);
    return branch === undefined ? who : who.onBranchOf(branch);
  };
  const reader = async () => (named === undefined ? hub : agent());
  const signal = as.signal ?? new AbortController().signal;
  const actor = { via: "http", token: "test", access, ...(named && { agent: named }) } as const;
  return { hub, access, actor, named, key, agent, reader, signal, onProgress };
}

/**
 * The shared context over HTTP: a reader for hubs, and the full interface for agents, which tracks how far
 * the session has read. That position is kept in this process, by the same rules as in the hub's process.
 */

import type { Page } from "../base/page.ts";
import type { AdoptOptions, AdoptResult } from "../coordination/shared-context/adopt.ts";
import type { ContextProposal, ProposeOptions } from "../coordination/shared-context/propose.ts";
import type {
  ContextRetireOptions,
  ContextWriteOptions,
  DecisionInput,
  ProposeResult,
  SharedContext,
} from "../hub/groups/shared-context.ts";
import type { SerializedSent } from "../hub/serialized.ts";
import type { Work } from "../hub/work.ts";
import type {
  ContextChange,
  ContextChanges,
  ContextChangesQuery,
  ContextHistoryQuery,
} from "../shared-context/changes.ts";
import type { ProjectItem } from "../shared-context/git.ts";
import type { ContextInput, ContextItem, ContextSection } from "../shared-context/items.ts";
import type { ContextQuery, SharedContextText } from "../shared-context/read.ts";
import { mergeOptions } from "./connection/call-options.ts";
import { errorOf, type Problem } from "./connection/problem.ts";
import type { Wire } from "./connection/wire.ts";
import { type NodeModules, requireNode } from "./needs-node.ts";
import { RemoteSent } from "./sent.ts";
import { RemoteWork } from "./work.ts";

/** The read methods, which need no agent. */
class RemoteContextReader {
  protected readonly wire: Wire;

  constructor(wire: Wire) {
    this.wire = wire;
  }

  text(query: ContextQuery = {}): Promise<SharedContextText> {
    return this.wire.call("context.text", query);
  }

  async item(section: ContextSection, key: string): Promise<ContextItem | undefined> {
    return (
      (await this.wire.call<{ item?: ContextItem | null }>("context.item", { section, key }))
        .item ?? undefined
    );
  }

  changes(query: ContextChangesQuery = {}): Promise<ContextChanges> {
    return this.wire.call("context.changes", query);
  }

  history(
    section: ContextSection,
    key: string,
    query: ContextHistoryQuery = {},
  ): Promise<Page<ContextChange, number>> {
    return this.wire.call("context.history", { ...query, section, key });
  }
}

/** Implements SharedContext over HTTP. */
export class RemoteSharedContext extends RemoteContextReader implements SharedContext {
  readonly #role: string | undefined;
  readonly #node: NodeModules | undefined;
  /** The version up to which this session has read. */
  #seen = 0;

  constructor(wire: Wire, role: string | undefined, node: NodeModules | undefined) {
    super(wire);
    this.#role = role;
    this.#node = node;
  }

  /** The version up to which this session has read. */
  get seen(): number {
    return this.#seen;
  }

  /** Marks everything up to a version as read. */
  sawUpTo(version: number): void {
    this.#seen = Math.max(this.#seen, version);
  }

  override async text(query: ContextQuery = {}): Promise<SharedContextText> {
    const text = await super.text(query);
    // A part of the sections, or the text for another role, does not count as having read everything.
    const { sections, role = this.#role } = query;
    if (sections === undefined && role === this.#role) this.#seen = text.version;
    return text;
  }

  override async changes(query: ContextChangesQuery = {}): Promise<ContextChanges> {
    const after = query?.after ?? this.#seen;
    const changes = await super.changes({ ...query, after });
    if (after <= this.#seen) this.sawUpTo(changes.version);
    return changes;
  }

  set(item: ContextInput, writing: ContextWriteOptions = {}): Promise<ContextItem> {
    return this.wire.call("context.set", mergeOptions(writing, { item }));
  }

  decide(decision: DecisionInput, writing: ContextWriteOptions = {}): Promise<ContextItem> {
    return this.set({ ...decision, section: "decisions" }, writing);
  }

  retire(
    section: ContextSection,
    key: string,
    retiring: ContextRetireOptions,
  ): Promise<{ readonly version: number; readonly memory: string }> {
    return this.wire.call("context.retire", mergeOptions(retiring, { section, key }));
  }

  /** Reads git in this process, because the project is on the caller's machine. */
  async project(from: string | readonly ProjectItem[] = "."): Promise<readonly ContextItem[]> {
    const items = typeof from === "string" ? await this.#fromGit(from) : from;
    return this.wire.call("context.project", { items });
  }

  async #fromGit(folder: string): Promise<readonly ProjectItem[]> {
    const git = await requireNode(this.#node, "agent.context.project").git();
    return git.projectFromGit(folder);
  }

  async propose(change: ContextProposal, proposal: ProposeOptions): Promise<ProposeResult> {
    const { sent, ...rest } = await this.wire.call<
      Omit<ProposeResult, "sent"> & { sent: SerializedSent }
    >("context.propose", mergeOptions(proposal, { change }));
    return { ...rest, sent: new RemoteSent(this.wire, sent) };
  }

  async adopt(work: Work, adopting: AdoptOptions = {}): Promise<AdoptResult> {
    const { handle } = work;
    const call = () =>
      this.wire.call<AdoptResult>(
        "context.adopt",
        mergeOptions(adopting, { handle, envelope: work.envelope.id }),
      );
    if (!(work instanceof RemoteWork)) return reviveConflict(await call());
    return reviveConflict(await work.settledBy(call, () => true));
  }
}

/** Turns the conflict, which arrives as JSON, back into an error. */
function reviveConflict(adopted: AdoptResult): AdoptResult {
  if (adopted.kind !== "stale") return adopted;
  return { ...adopted, conflict: errorOf(adopted.conflict as Problem) };
}

/**
 * `hub.context` and `agent.context`: the shared context of a team. The hub only reads it. An agent reads it
 * for its role, tracks how far its session has read, and writes or proposes changes. The work is done in
 * src/shared-context and src/coordination/shared-context.
 */

import * as z from "zod";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { Page } from "../../base/page.ts";
import {
  type AdoptOptions,
  type AdoptResult,
  adopt,
} from "../../coordination/shared-context/adopt.ts";
import {
  BasedOn,
  type ContextProposal,
  ItemNameSchema,
  type ProposalPayload,
  type ProposeOptions,
  propose,
} from "../../coordination/shared-context/propose.ts";
import type { Worker } from "../../delivery/receive/worker.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { requireKeeper } from "../../memory/keepers.ts";
import {
  redactSecrets,
  runWithoutSecrets,
  type WithSecrets,
  withSecrets,
} from "../../memory/redaction/secret-policy.ts";
import {
  type ContextChange,
  type ContextChanges,
  type ContextChangesQuery,
  type ContextHistoryQuery,
  contextChanges,
  itemHistory,
} from "../../shared-context/changes.ts";
import type { Contradiction } from "../../shared-context/contradictions.ts";
import { type ProjectItem, projectFromGit } from "../../shared-context/git.ts";
import {
  type ContextInput,
  type ContextItem,
  ContextItemSchema,
  ContextKey,
  type ContextSection,
} from "../../shared-context/items.ts";
import { updateProject } from "../../shared-context/project.ts";
import {
  type ContextQuery,
  type ContextReader,
  readContext,
  type SharedContextText,
} from "../../shared-context/read.ts";
import { type ItemName, liveItem } from "../../shared-context/stored-items.ts";
import { itemOf, writeItemChange } from "../../shared-context/write.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { LocalSent, type Sent } from "../sent.ts";
import type { Work } from "../work.ts";

/** Options of `context.set()` and `context.decide()`. */
export const WriteSchema = z.strictObject({
  /** The version of the item that was read. Required unless the item is new. */
  basedOn: BasedOn.optional(),
  /** Keys of active decisions that the item may contradict. */
  despite: z.array(ContextKey).optional(),
});

export type ContextWriteOptions = z.input<typeof WriteSchema>;

/** Options of `context.retire()`. */
export const RetireOptionsSchema = z.strictObject({
  basedOn: BasedOn,
  reason: z.string().min(1).max(FORMAT_LIMITS.lineLength),
});

export type ContextRetireOptions = z.input<typeof RetireOptionsSchema>;

/** A proposal that was sent. */
export interface ProposeResult {
  readonly sent: Sent<ProposalPayload>;
  /** Active decisions that the proposal conflicts with; adopting it requires naming them in `despite`. */
  readonly contradictions: readonly Contradiction[];
}

/** The input of `context.decide()`: an item of the section "decisions". */
export type DecisionInput = Omit<Extract<ContextInput, { section: "decisions" }>, "section">;

const INVALID_ITEM = { code: "invalid_input", what: "The item" } as const;
const INVALID_OPTIONS = { code: "invalid_input", what: "The options" } as const;

const parseItemName = (section: ContextSection, key: string): ItemName =>
  parseOrThrow(ItemNameSchema, { section, key }, INVALID_ITEM);

/** `hub.context`: reads the shared context. */
export interface HubContext {
  /** Returns the shared context as text within a token budget, with what was omitted. */
  text(query?: ContextQuery): Promise<SharedContextText>;
  /** Returns one item, or undefined if it does not exist or was retired. */
  item(section: ContextSection, key: string): Promise<ContextItem | undefined>;
  /** Returns what changed after a version, oldest first, a page at a time. */
  changes(query?: ContextChangesQuery): Promise<ContextChanges>;
  /** Returns every version of an item, newest first, also of a retired one. Throws `not_in_context`. */
  history(
    section: ContextSection,
    key: string,
    query?: ContextHistoryQuery,
  ): Promise<Page<ContextChange, number>>;
}

/**
 * `agent.context`: reads the shared context for the role of the agent. Only the roles in `settings.keepers`
 * may write; others propose. `changes()` without `after` returns what changed since this session last read.
 */
export interface SharedContext extends HubContext {
  /** The version up to which this session has read; 0 before it has read anything. */
  readonly seen: number;
  /**
   * Writes an item, based on the version that was read. Throws `not_permitted` if the agent's role is not in
   * `settings.keepers`, `context_conflict` if the item was changed meanwhile, and `contradiction` if it
   * conflicts with an active decision that `despite` does not name.
   */
  set(item: ContextInput, options?: ContextWriteOptions): Promise<WithSecrets<ContextItem>>;
  /** Writes a decision: the question, the choice, the reason and the alternatives. Throws like `set`. */
  decide(decision: DecisionInput, options?: ContextWriteOptions): Promise<WithSecrets<ContextItem>>;
  /**
   * Retires an item. A record states which agent retired it and why. Throws like `set`, and `not_in_context`.
   */
  retire(
    section: ContextSection,
    key: string,
    options: ContextRetireOptions,
  ): Promise<{ readonly version: number; readonly memory: string }>;
  /**
   * Updates the project's items from a git folder (default: the current one) or from a list. Unchanged items
   * are not written.
   */
  project(from?: string | readonly ProjectItem[]): Promise<readonly ContextItem[]>;
  /**
   * Sends a change, or a quarantine, as a handoff to an agent that may make it. Throws `unknown_role` if there
   * is none.
   */
  propose(change: ContextProposal, options: ProposeOptions): Promise<ProposeResult>;
  /** Makes the change or the quarantine that accepted work proposes, and completes that work. */
  adopt(work: Work, options?: AdoptOptions): Promise<AdoptResult>;
}

/** What a hub and an agent have in common: reading. */
class ContextQueries {
  protected readonly workspace: Workspace;
  protected readonly reader: ContextReader;

  constructor(workspace: Workspace, reader: ContextReader) {
    this.workspace = workspace;
    this.reader = reader;
  }

  text(query: ContextQuery = {}): Promise<SharedContextText> {
    return readContext(this.workspace, this.reader, query);
  }

  async item(section: ContextSection, key: string): Promise<ContextItem | undefined> {
    const found = await liveItem(this.workspace, parseItemName(section, key));
    return found?.kind === "item" ? found.item : undefined;
  }

  changes(query: ContextChangesQuery = {}): Promise<ContextChanges> {
    return contextChanges(this.workspace, query);
  }

  async history(
    section: ContextSection,
    key: string,
    query: ContextHistoryQuery = {},
  ): Promise<Page<ContextChange, number>> {
    return itemHistory(this.workspace, parseItemName(section, key), query);
  }
}

/** The shared context as the hub reads it: for no role, unless the query names one. */
export class LocalHubContext extends ContextQueries implements HubContext {
  constructor(workspace: Workspace) {
    super(workspace, {});
  }
}

/** The shared context as an agent reads and writes it in one session. */
export class LocalSharedContext extends ContextQueries implements SharedContext {
  readonly #self: Worker;
  readonly #call: <T>(run: () => Promise<T>) => Promise<T>;
  /** The version up to which this session has read. */
  #seen = 0;

  constructor(
    workspace: Workspace,
    self: Worker,
    {
      model,
      call,
    }: {
      readonly model: string | undefined;
      readonly call: <T>(run: () => Promise<T>) => Promise<T>;
    },
  ) {
    super(workspace, { role: self.role, model });
    this.#self = self;
    this.#call = call;
  }

  get seen(): number {
    return this.#seen;
  }

  /** Marks everything up to a version as read by this session. */
  sawUpTo(version: number): void {
    this.#seen = Math.max(this.#seen, version);
  }

  override text(query: ContextQuery = {}): Promise<SharedContextText> {
    return this.#call(async () => {
      const text = await readContext(this.workspace, this.reader, query);
      // Reading only some sections, or for another role, leaves changes unread.
      const { sections, role = this.reader.role } = query;
      if (sections === undefined && role === this.reader.role) this.#seen = text.version;
      return text;
    });
  }

  override item(section: ContextSection, key: string): Promise<ContextItem | undefined> {
    return this.#call(() => super.item(section, key));
  }

  /** Default of `after`: the version up to which this session has read or was notified. */
  override changes(query: ContextChangesQuery = {}): Promise<ContextChanges> {
    return this.#call(async () => {
      const after = query?.after ?? this.#seen;
      const changes = await contextChanges(this.workspace, { ...query, after });
      if (after <= this.#seen) this.sawUpTo(changes.version);
      return changes;
    });
  }

  override history(
    section: ContextSection,
    key: string,
    query: ContextHistoryQuery = {},
  ): Promise<Page<ContextChange, number>> {
    return this.#call(() => super.history(section, key, query));
  }

  set(item: ContextInput, writing: ContextWriteOptions = {}): Promise<WithSecrets<ContextItem>> {
    return this.#call(async () => {
      const asked = parseOrThrow(WriteSchema, writing, INVALID_OPTIONS);
      return runWithoutSecrets(this.workspace, item, async (redacted, secrets) => {
        const body = parseOrThrow(ContextItemSchema, redacted, INVALID_ITEM);
        await requireKeeper(this.workspace, this.#self.agent);
        const written = await writeItemChange(
          this.workspace,
          this.#self,
          { kind: "set", item: body },
          asked,
        );
        return withSecrets(itemOf(body, this.#self, written), secrets);
      });
    });
  }

  decide(
    decision: DecisionInput,
    writing: ContextWriteOptions = {},
  ): Promise<WithSecrets<ContextItem>> {
    return this.set({ ...decision, section: "decisions" }, writing);
  }

  retire(
    section: ContextSection,
    key: string,
    retiring: ContextRetireOptions,
  ): Promise<{ readonly version: number; readonly memory: string }> {
    return this.#call(async () => {
      const item = parseItemName(section, key);
      const asked = parseOrThrow(RetireOptionsSchema, retiring, INVALID_OPTIONS);
      const { basedOn, reason } = await redactSecrets(this.workspace, asked);
      await requireKeeper(this.workspace, this.#self.agent);
      const change = { kind: "retired", item, reason } as const;
      const { version, memory } = await writeItemChange(this.workspace, this.#self, change, {
        basedOn,
      });
      return { version, memory };
    });
  }

  project(from: string | readonly ProjectItem[] = "."): Promise<readonly ContextItem[]> {
    return this.#call(async () => {
      await requireKeeper(this.workspace, this.#self.agent);
      const items = typeof from === "string" ? await projectFromGit(from) : from;
      const said = await redactSecrets(this.workspace, items, {
        limit: "documentBytes",
      });
      return updateProject(this.workspace, this.#self, projectItems(said));
    });
  }

  propose(change: ContextProposal, proposal: ProposeOptions): Promise<ProposeResult> {
    return this.#call(async () => {
      const { sent, ...rest } = await propose(this.workspace, this.#self, change, proposal);
      return { sent: new LocalSent<ProposalPayload>(this.workspace, this.#self, sent), ...rest };
    });
  }

  adopt(work: Work, adopting: AdoptOptions = {}): Promise<AdoptResult> {
    return this.#call(() => adopt(this.workspace, this.#self, work, adopting));
  }
}

const projectItems = (items: readonly ProjectItem[]): readonly ProjectItem[] =>
  parseOrThrow(z.array(z.unknown()), items, { ...INVALID_ITEM, what: "The items" }).map(
    projectItem,
  );

function projectItem(item: unknown): ProjectItem {
  const body = parseOrThrow(
    ContextItemSchema,
    { ...Object(item), section: "project" },
    INVALID_ITEM,
  );
  if (body.section !== "project") throw new Error("a project item changed its section");
  return body;
}

/**
 * The doors to the shared context: an agent's, which reads for its role, remembers how far it has read,
 * and writes or proposes; and the hub's, which only looks. Each method is one line into the file that
 * does it.
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
import { requireKeeper } from "../../shared-context/keepers.ts";
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

export const WriteSchema = z.strictObject({
  /** The version of the item that was seen; left out only where there is none yet. */
  basedOn: BasedOn.optional(),
  /** Decisions it is written in spite of, by their keys. */
  despite: z.array(ContextKey).optional(),
});

export type ContextWriteOptions = z.input<typeof WriteSchema>;

export const RetireOptionsSchema = z.strictObject({
  basedOn: BasedOn,
  reason: z.string().min(1).max(FORMAT_LIMITS.lineLength),
});

export type ContextRetireOptions = z.input<typeof RetireOptionsSchema>;

/** A proposal as its sender holds it. */
export interface ProposeResult {
  readonly sent: Sent<ProposalPayload>;
  /** Active decisions it conflicts with: adopting it requires naming them. */
  readonly contradictions: readonly Contradiction[];
}

export type DecisionInput = Omit<Extract<ContextInput, { section: "decisions" }>, "section">;

const INVALID_ITEM = { code: "invalid_input", what: "The item" } as const;
const INVALID_OPTIONS = { code: "invalid_input", what: "The options" } as const;

const parseItemName = (section: ContextSection, key: string): ItemName =>
  parseOrThrow(ItemNameSchema, { section, key }, INVALID_ITEM);

/** `hub.context`: the shared context, for reading. */
export interface HubContext {
  /** Returns the shared context as text within a token budget, with what was left out. */
  text(query?: ContextQuery): Promise<SharedContextText>;
  /** Returns one item; undefined if there is none, or it was retired. */
  item(section: ContextSection, key: string): Promise<ContextItem | undefined>;
  /** Returns what changed since a version, oldest first. */
  changes(query?: ContextChangesQuery): Promise<ContextChanges>;
  /** Returns every version of an item, newest first, also of a retired one. */
  history(
    section: ContextSection,
    key: string,
    query?: ContextHistoryQuery,
  ): Promise<Page<ContextChange, number>>;
}

/**
 * `agent.context`: read for the agent's role, and written by the roles in `settings.keepers`. `changes` without
 * `since` returns what changed since this session last read.
 */
export interface SharedContext extends HubContext {
  /** The version this session has read up to; 0 before it has read anything. */
  readonly seen: number;
  /**
   * Writes an item based on the version of it that was read. Throws `context_conflict` if it was changed
   * meanwhile, and `contradiction` if it conflicts with an active decision that `despite` does not name.
   */
  set(item: ContextInput, options?: ContextWriteOptions): Promise<WithSecrets<ContextItem>>;
  /** Writes a decision: the question, the choice, the reason and the alternatives. */
  decide(decision: DecisionInput, options?: ContextWriteOptions): Promise<WithSecrets<ContextItem>>;
  /** Retires an item, with a reason. */
  retire(
    section: ContextSection,
    key: string,
    options: ContextRetireOptions,
  ): Promise<{ readonly version: number; readonly memory: string }>;
  /** Updates the project's items from a git folder (default: the current one) or from a list. */
  project(from?: string | readonly ProjectItem[]): Promise<readonly ContextItem[]>;
  /** Sends a change to an agent that may make it. */
  propose(change: ContextProposal, options: ProposeOptions): Promise<ProposeResult>;
  /** Makes the change that accepted work proposes, and completes that work. */
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

  /** The shared context as text within a number of tokens, with what was left out. */
  text(query: ContextQuery = {}): Promise<SharedContextText> {
    return readContext(this.workspace, this.reader, query);
  }

  /** One item as it holds; undefined where there is none, or it was taken away. */
  async item(section: ContextSection, key: string): Promise<ContextItem | undefined> {
    const found = await liveItem(this.workspace, parseItemName(section, key));
    return found?.kind === "item" ? found.item : undefined;
  }

  /** What changed since a version, oldest first, a page at a time. */
  changes(query: ContextChangesQuery = {}): Promise<ContextChanges> {
    return contextChanges(this.workspace, query);
  }

  /** Every version of an item, newest first; also of one that was retired. */
  async history(
    section: ContextSection,
    key: string,
    query: ContextHistoryQuery = {},
  ): Promise<Page<ContextChange, number>> {
    return itemHistory(this.workspace, parseItemName(section, key), query);
  }
}

/** The hub's: for no role, unless the query names one. */
export class LocalHubContext extends ContextQueries implements HubContext {
  constructor(workspace: Workspace) {
    super(workspace, {});
  }
}

/** An agent's, in one session. */
export class LocalSharedContext extends ContextQueries implements SharedContext {
  readonly #self: Worker;
  readonly #call: <T>(run: () => Promise<T>) => Promise<T>;
  /** As far as this session has read. */
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

  /** The version this session has read up to; 0 before it has read anything. */
  get seen(): number {
    return this.#seen;
  }

  /** Notes that this session has been shown everything up to a version. */
  sawUpTo(version: number): void {
    this.#seen = Math.max(this.#seen, version);
  }

  override text(query: ContextQuery = {}): Promise<SharedContextText> {
    return this.#call(async () => {
      const text = await readContext(this.workspace, this.reader, query);
      // Some of it, or what matters to another role, leaves something to be told.
      const { sections, role = this.reader.role } = query;
      if (sections === undefined && role === this.reader.role) this.#seen = text.version;
      return text;
    });
  }

  override item(section: ContextSection, key: string): Promise<ContextItem | undefined> {
    return this.#call(() => super.item(section, key));
  }

  /** Without `after`: since this session last read, or was told of changes. */
  override changes(query: ContextChangesQuery = {}): Promise<ContextChanges> {
    return this.#call(async () => {
      const after = query?.after ?? this.#seen;
      const told = await contextChanges(this.workspace, { ...query, after });
      if (after <= this.#seen) this.sawUpTo(told.version);
      return told;
    });
  }

  override history(
    section: ContextSection,
    key: string,
    query: ContextHistoryQuery = {},
  ): Promise<Page<ContextChange, number>> {
    return this.#call(() => super.history(section, key, query));
  }

  /**
   * Writes an item, based on the version of it that was seen. For roles that may (`settings.keepers`);
   * refused where it was changed meanwhile, or speaks against a decision that holds.
   */
  set(item: ContextInput, writing: ContextWriteOptions = {}): Promise<WithSecrets<ContextItem>> {
    return this.#call(async () => {
      const asked = parseOrThrow(WriteSchema, writing, INVALID_OPTIONS);
      return runWithoutSecrets(this.workspace, item, async (said, secrets) => {
        const body = parseOrThrow(ContextItemSchema, said, INVALID_ITEM);
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

  /** Writes a decision: what was asked, what was chosen, why, and what was not chosen. */
  decide(
    decision: DecisionInput,
    writing: ContextWriteOptions = {},
  ): Promise<WithSecrets<ContextItem>> {
    return this.set({ ...decision, section: "decisions" }, writing);
  }

  /** Takes an item out: it holds no more. A record says who did it and why. */
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

  /** Brings the project's items up to date; what is as it was is not written. From git, unless given. */
  project(from: string | readonly ProjectItem[] = "."): Promise<readonly ContextItem[]> {
    return this.#call(async () => {
      await requireKeeper(this.workspace, this.#self.agent);
      const items = typeof from === "string" ? await projectFromGit(from) : from;
      const said = await redactSecrets(this.workspace, items);
      return updateProject(this.workspace, this.#self, projectItems(said));
    });
  }

  /** Hands a change to somebody who may make it. */
  propose(change: ContextProposal, proposal: ProposeOptions): Promise<ProposeResult> {
    return this.#call(async () => {
      const { sent, ...rest } = await propose(this.workspace, this.#self, change, proposal);
      return { sent: new LocalSent<ProposalPayload>(this.workspace, this.#self, sent), ...rest };
    });
  }

  /** Makes the change that a piece of accepted work proposes, and completes the work. */
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
  if (body.section !== "project") throw new Error("an item of the project became another");
  return body;
}

/**
 * The turn of one process to carry out what is due in a workspace, so that the hubs of a team do not all do it
 * at once. It is an entry that exists only meanwhile. Its process renews it; one that has ended loses it at
 * once, one that stopped responding after `TURN_MS`. The turn saves work and guarantees nothing: each decision
 * is a guarded move in any case.
 */
import { randomUUID } from "node:crypto";
import { isBatonError } from "../../base/errors.ts";
import type { EntryRow } from "../../store/rows.ts";
import { entryValue, toEntryText } from "../../workspace/entries.ts";
import { storeTime } from "../../workspace/store-time.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** The kind and name of the entry. */
const ENTRY = { kind: "due-turn", name: "turn" } as const;
/** How long a turn lasts without renewal, in milliseconds. */
const TURN_MS = 3_000;
const RENEW_MS = 1_000;

interface TurnValue {
  /** Makes each turn different; a turn of another hub of the same process is another turn. */
  readonly id: string;
  /** The process that has it; empty if that cannot be determined. */
  readonly process: string;
}

/** The turn of this process, until it is released or lost. */
export class Turn {
  readonly #workspace: Workspace;
  readonly #timer: NodeJS.Timeout;
  #entry: EntryRow | undefined;
  #renewing: Promise<void> = Promise.resolve();

  private constructor(workspace: Workspace, entry: EntryRow) {
    this.#workspace = workspace;
    this.#entry = entry;
    this.#timer = setInterval(() => {
      this.#renewing = this.#renew();
    }, RENEW_MS).unref();
  }

  /** Takes the turn; undefined while another process has it. */
  static async take(workspace: Workspace): Promise<Turn | undefined> {
    let current: EntryRow | undefined;
    for (;;) {
      const outcome = await put(workspace, current, newValue(workspace));
      if (outcome.kind === "put" && outcome.entry) return new Turn(workspace, outcome.entry);
      if (current !== undefined || outcome.entry === undefined) return undefined; // Taken meanwhile.
      if (!(await isOver(workspace, outcome.entry))) return undefined;
      current = outcome.entry;
    }
  }

  /** False if another process has taken the turn. */
  get isCurrent(): boolean {
    return this.#entry !== undefined;
  }

  /** Ends the turn. An entry that cannot be deleted expires. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
    await this.#change(undefined);
  }

  #renew(): Promise<void> {
    return this.#change(newValue(this.#workspace));
  }

  async #change(value: TurnValue | undefined): Promise<void> {
    if (this.#entry === undefined) return;
    try {
      const outcome = await put(this.#workspace, this.#entry, value);
      this.#entry = outcome.kind === "put" ? outcome.entry : undefined;
    } catch (error) {
      if (!isBatonError(error)) throw error; // The store is unavailable: the turn expires.
    }
  }
}

const newValue = ({ processes }: Workspace): TurnValue => ({
  id: randomUUID(),
  process: processes.self,
});

function put(
  { store, name }: Workspace,
  current: EntryRow | undefined,
  value: TurnValue | undefined,
) {
  return store.putEntry(name, {
    ...ENTRY,
    value: value && toEntryText(value),
    basedOn: current?.revision ?? 0,
  });
}

/** Returns whether a turn has expired or its process has ended. */
async function isOver(workspace: Workspace, entry: EntryRow): Promise<boolean> {
  const holder = entryValue<TurnValue>(entry)?.process ?? "";
  if (holder !== "" && workspace.processes.isGone(holder)) return true;
  return (await storeTime(workspace)) - entry.at >= TURN_MS;
}

/**
 * Provides what a signature covers besides the content of a record: workspace, branch, and the newest records
 * that the author knows to be stored. The position of a record is not known before the store assigns it; but
 * the link of a record that is already stored fixes everything up to it. So an attacker who changes, removes or
 * reorders anything before the newest signed record makes its witness wrong, and cannot sign another one.
 *
 * Costs nothing without keys: only the store of an agent that signs is observed.
 */
import { GenerationalCache } from "../base/generational-cache.ts";
import type { Signer } from "../base/signing-keys.ts";
import type { Witness, WitnessedRecord } from "../store/rows.ts";
import type { ChainPosition, Store } from "../store/store.ts";
import { MAIN_BRANCH } from "../store/visibility.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** Signs the records of one agent, each for one branch. */
export interface RecordSigner extends Signer {
  witness(agent: string, branch: string): Witness;
}

/** Branches and authors whose newest record is remembered. */
const REMEMBERED = 1_000;

/** The newest records that an open hub has stored or read: by branch, and by author. */
class KnownRecords {
  readonly store: Store;
  readonly #workspace: string;
  readonly #newest = new GenerationalCache<string, WitnessedRecord>(REMEMBERED);
  readonly #own = new GenerationalCache<string, WitnessedRecord>(REMEMBERED);

  constructor({ name, store }: Workspace) {
    this.#workspace = name;
    this.store = observed(store, (branch, place, agent) => this.note(branch, place, agent));
  }

  note(branch: string, { id, link, seq }: Place, agent?: string): void {
    const record = { branch, id, link, seq };
    if (seq > (this.#newest.get(branch)?.seq ?? 0)) this.#newest.set(branch, record);
    const own = agent === undefined ? undefined : this.#own.get(agent);
    if (agent !== undefined && (own?.branch !== branch || own.seq < seq))
      this.#own.set(agent, record);
  }

  witness(agent: string, branch: string): Witness {
    const own = this.#own.get(agent);
    return {
      after: this.#newest.get(branch),
      branch,
      previous: own?.branch === branch ? undefined : own,
      workspace: this.#workspace,
    };
  }

  /** Reads the newest record of a branch, so that the first record of a session names it. */
  async read(branch: string): Promise<void> {
    const workspace = this.#workspace;
    const [tip] = await this.store.findTips({ workspace, branches: [branch] });
    if (tip === undefined || tip.seq === 0) return;
    const [row] = await this.store.readMemories(workspace, [tip.memory]);
    if (row !== undefined) this.note(branch, row);
  }
}

type Place = Pick<ChainPosition, "id" | "link" | "seq">;

const known = new WeakMap<object, KnownRecords>();

function knownRecords(workspace: Workspace): KnownRecords {
  const before = known.get(workspace.root);
  if (before !== undefined) return before;
  const records = new KnownRecords(workspace);
  known.set(workspace.root, records);
  return records;
}

/** Returns the signer of an agent's records, which knows the newest record of the main branch. */
export async function recordSigner(workspace: Workspace, signer: Signer): Promise<RecordSigner> {
  const records = knownRecords(workspace);
  await records.read(MAIN_BRANCH);
  return { ...signer, witness: (agent, branch) => records.witness(agent, branch) };
}

/** Returns the workspace of an agent that signs: with a store whose answers its witnesses are taken from. */
export const witnessedWorkspace = (workspace: Workspace): Workspace => ({
  ...workspace,
  store: knownRecords(workspace).store,
});

/** Notes a record that was stored without the store of `witnessedWorkspace()`. */
export function noteStored(
  { root }: Workspace,
  branch: string,
  { agent, ...place }: Place & { readonly agent: string },
): void {
  known.get(root)?.note(branch, place, agent);
}

/** The operations that return where they stored records, and the authors of those. */
const PLACES: Partial<Record<keyof Store, (operation: never) => readonly string[]>> = {
  appendMemories: ({ memories }: Parameters<Store["appendMemories"]>[0]) =>
    memories.map(({ agent }) => agent),
  sendHandoffs: (handoffs: Parameters<Store["sendHandoffs"]>[0]) =>
    handoffs.map(({ memory }) => memory.agent),
  ...one("sendHandoff"),
  ...one("acceptDelivery"),
  ...one("redactBodies"),
};

function one(name: "sendHandoff" | "acceptDelivery" | "redactBodies") {
  return {
    [name]: ({ memory }: { readonly memory: { readonly agent: string } }) => [memory.agent],
  };
}

type Note = (branch: string, place: Place, agent: string) => void;

/** Returns a store that reports each record it has stored. */
function observed(store: Store, note: Note): Store {
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const authorsOf = PLACES[name as keyof Store];
      if (authorsOf === undefined) return member.bind(target);
      return async (operation: OnBranch | readonly OnBranch[]) => {
        const outcome = (await member.call(target, operation)) as Placed;
        const authors = authorsOf(operation as never);
        const [{ branch }] = [operation].flat() as [OnBranch];
        for (const [i, place] of placesOf(outcome).entries())
          note(branch, place, authors[i] as string);
        return outcome;
      };
    },
  });
}

interface OnBranch {
  readonly branch: string;
}

interface Placed {
  readonly place?: ChainPosition;
  readonly places?: readonly ChainPosition[];
  readonly sent?: readonly { readonly place: ChainPosition }[];
}

/** Returns where an operation stored its records; nowhere if it was refused. */
function placesOf({ place, places, sent }: Placed): readonly ChainPosition[] {
  return places ?? sent?.map((each) => each.place) ?? (place === undefined ? [] : [place]);
}

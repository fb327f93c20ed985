/**
 * Releases one item from a task's ledger without a handoff: a constraint that no longer applies, a decision
 * that was made, or progress that is no longer true. A memory of type `decision` states the agent and the
 * reason and links to the handoff that set the item; memory and ledger are written together.
 */

import { DraftSchema, Name } from "../envelope/schema.ts";
import { parseOrThrow } from "../envelope/violations.ts";
import { withoutQuarantined } from "../memory/quarantine/quarantine-mark.ts";
import type { Author, Memory } from "../memory/record.ts";
import { redactSecrets } from "../memory/redaction/secret-policy.ts";
import { rememberWithEntries } from "../memory/remember.ts";
import { RETRY, retryWrite } from "../workspace/retry.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { CarriedItems } from "./carry.ts";
import { type Ledger, ledgerOf, type ResolvedLedger, resolveLedger } from "./ledger.ts";
import { ledgerEntry } from "./ledger-entry.ts";
import { checkReleases, notOnLedger, type ReleaseInput } from "./release-check.ts";

const ReleaseSchema = DraftSchema.shape.releases.unwrap().element;

const NOTHING_CARRIED: CarriedItems = {
  constraints: [],
  decisions: [],
  flags: [],
  added: { constraints: [], decisions: [], progress: [], widened: [] },
};

/** Returns the task name if it is valid; throws `invalid_input` otherwise. */
export const parseTaskName = (task: unknown): string =>
  parseOrThrow(Name, task, { code: "invalid_input", what: "The task", prefix: "task" });

/**
 * Releases an item and returns the ledger afterwards. Throws what checkReleases() throws. Retries up to 100
 * times if another writer changes the ledger at the same time.
 */
export async function release(
  workspace: Workspace,
  by: Author,
  task: string,
  asked: ReleaseInput,
): Promise<Ledger> {
  const name = parseTaskName(task);
  const how = { code: "invalid_input", what: "The release" } as const;
  const checked = await redactSecrets(workspace, parseOrThrow(ReleaseSchema, asked, how));
  return retryWrite({ what: `The ledger of "${name}" was changed`, attempts: 100 }, async () => {
    if ((await releaseOnce(workspace, by, name, checked)) === undefined) return RETRY;
    return (await ledgerOf(workspace, name)) as Ledger;
  });
}

async function releaseOnce(
  workspace: Workspace,
  by: Author,
  task: string,
  asked: ReleaseInput,
): Promise<readonly Memory[] | undefined> {
  const family = await resolveLedger(workspace, task);
  const { kept } = family;
  if (kept === undefined) throw notOnLedger(family, asked.id, "release");
  const releaser = { ...by, isOnLine: false, pathOf: () => "release" };
  const releases = await checkReleases(workspace, releaser, family, [asked]);
  const record = workspace.ids.mint("memory");
  const provenance = { at: workspace.clock.now(), by: by.agent, envelope: "", record };
  const keeping = { family, beginning: kept, carried: NOTHING_CARRIED, releases };
  const entry = ledgerEntry(keeping, provenance);
  const { id, reason, decided } = asked;
  const settled = decided === undefined ? "" : ` Decided: ${decided}`;
  const input = {
    id: record,
    type: "decision",
    task,
    content: `${by.agent} released "${id}" from "${task}": ${reason}${settled}`,
    data: { ...releases[0], task },
    relations: await linksTo(workspace, family, id),
  };
  return rememberWithEntries(workspace, by, [input], entry === undefined ? [] : [entry]);
}

/** Returns relations to the handoff that set the item, if it is known and not quarantined. */
async function linksTo(
  workspace: Workspace,
  { constraints, decisions, progress }: ResolvedLedger,
  id: string,
) {
  const set = [...constraints, ...decisions, ...progress].filter((each) => each.id === id);
  const records = set.flatMap(({ record }) => (record === undefined ? [] : [{ id: record }]));
  const shown = await withoutQuarantined(workspace, records);
  return shown.map(({ id: to }) => ({ kind: "continues-from" as const, to }));
}

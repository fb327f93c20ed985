/**
 * Traces over HTTP: what an agent did, step by step, is for tokens with access agent. A token with access
 * reader reads the steps of its own agent only, in lists, in recall, by id, and in what was derived from a
 * memory.
 */
import { hasAccess } from "../../access/levels.ts";
import { requireAccess } from "../../access/refusals.ts";
import type { Impact } from "../../memory/quarantine/blast-radius.ts";
import { isTraceBranch } from "../../store/visibility.ts";
import type { OperationContext } from "../operation.ts";

const READING = "Reading the traces of other agents";

const mayReadAll = ({ access }: OperationContext): boolean => hasAccess(access, "agent");

/** Throws `forbidden` unless the caller may read the traces of every agent. */
export const requireTraces = (acting: OperationContext): void =>
  requireAccess(acting, "agent", READING);

/** Throws `forbidden` unless the caller may read what the query selects. */
export async function requireTracesOf(
  acting: OperationContext,
  { agent }: { readonly agent?: string | undefined },
): Promise<void> {
  if (mayReadAll(acting)) return;
  const own = await ownId(acting);
  const isOwn = agent !== undefined && (await acting.hub.agents.get(agent)).id === own;
  if (!isOwn) requireTraces(acting);
}

/** A record that can be a step of a trace. */
interface TraceableRecord {
  readonly agent: string;
  readonly branch: string;
}

/** Returns the record. Throws `forbidden` if it is a step of another agent and the caller may not read it. */
export async function readableRecord<T extends TraceableRecord>(
  acting: OperationContext,
  record: T,
): Promise<T> {
  if (mayReadAll(acting)) return record;
  if (isForeignStep(record, await ownId(acting))) requireTraces(acting);
  return record;
}

/** Returns the impact without steps of other agents, unless the caller may read them; they are counted. */
export async function readableImpact(acting: OperationContext, impact: Impact): Promise<Impact> {
  if (mayReadAll(acting)) return impact;
  const own = await ownId(acting);
  await readableRecord(acting, impact.memory);
  const downstream = impact.downstream.filter((each) => !isForeignStep(each, own));
  const hidden = impact.hidden + impact.downstream.length - downstream.length;
  return { ...impact, downstream, hidden };
}

const isForeignStep = ({ agent, branch }: TraceableRecord, own: string | undefined): boolean =>
  isTraceBranch(branch) && agent !== own;

const ownId = async (acting: OperationContext): Promise<string | undefined> =>
  acting.named === undefined ? undefined : (await acting.agent()).id;

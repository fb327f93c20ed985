/**
 * Redacts bodies, as separate statements of one transaction under the workspace's lock: it is rare, so
 * round trips do not matter. Everything is compared before anything is written. The index is reset as well,
 * since it was built from the redacted texts, and filled again from the start.
 */
import { sha256 } from "../../../base/digest.ts";
import { assertNever } from "../../../base/errors.ts";
import { AGENT_COLUMNS, agentOf } from "../../codecs.ts";
import { type AgentRow, agentDigest, entryDigest } from "../../rows.ts";
import type {
  AuthorRefusal,
  ChainPosition,
  Erasure,
  RedactBodies,
  RedactOutcome,
} from "../../store.ts";
import { recordParts } from "../record-part.ts";
import { deleteVectors } from "../search/delete-vectors.ts";
import type { ExecuteSql } from "./export.ts";
import { resetIndex } from "./scrub.ts";

/** The workspace and the time, as determined when the lock was taken. */
interface RedactContext {
  readonly ask: ExecuteSql;
  readonly workspace: number;
  readonly now: number;
  /** Position of the newest record. */
  readonly position: number;
}

/** Writes the redaction record and erases the bodies. Runs in the caller's transaction. */
export async function redactBodies(
  ask: ExecuteSql,
  operation: RedactBodies,
  now: number | null,
): Promise<RedactOutcome> {
  const { memory, erasures, workspace: name } = operation;
  await ask("set local search_path = $schema, pg_temp", []);
  const [entered] = await ask("select w, t, pos from enter($1, $2)", [name, now]);
  const [workspace, at, position] = entered as [number, number, number];
  const here: RedactContext = { ask, workspace, now: at, position };
  const [judged] = await ask(
    `select author_fault($1, $2, $3),
       exists (select from memories where workspace = $1 and id = $4)`,
    [workspace, memory.agent, memory.publicKey, memory.id],
  );
  const [fault, taken] = judged as [AuthorRefusal["kind"] | null, boolean];
  if (fault !== null) return { kind: fault, agent: memory.agent };
  if (taken) return { kind: "id_taken", id: memory.id };
  for (const erasure of erasures) {
    if (!(await isAsSeen(here, erasure))) return { kind: "changed", erasure };
  }
  const place = await append(here, operation);
  for (const erasure of erasures) await erase(here, erasure);
  await resetIndex(ask, name);
  return { kind: "redacted", place };
}

async function append(
  { ask, workspace, now, position }: RedactContext,
  operation: RedactBodies,
): Promise<ChainPosition> {
  const { parts, text } = recordParts(operation.workspace, [operation]);
  const [appended] = await ask(
    "select places from append($1, $2, $3, $4::record_part[], null, $5)",
    [workspace, now, position, parts, text],
  );
  await ask("update workspaces set position = $2 where key = $1", [workspace, position + 1]);
  const [places = []] = appended as [[number, number, string][]];
  const [seq, storedAt, link] = places[0] as [number, number, string];
  return { id: operation.memory.id, seq, storedAt, link };
}

const ATTEMPT = "workspace = $1 and delivery = $2 and attempt = $3";

/** Returns whether what is to be erased has not changed since it was read. */
async function isAsSeen({ ask, workspace }: RedactContext, erasure: Erasure): Promise<boolean> {
  const isText = async (sql: string, ...values: unknown[]): Promise<boolean> => {
    const [row] = await ask(sql, [workspace, ...values]);
    return row !== undefined && sha256(row[0] as string) === (erasure as { digest: string }).digest;
  };
  switch (erasure.kind) {
    case "memory":
      return isText("select text from memories where workspace = $1 and id = $2", erasure.id);
    case "envelope":
      return isText("select text from envelopes where workspace = $1 and id = $2", erasure.id);
    case "attempt": {
      const { delivery, attempt } = erasure;
      return isText(`select reason from attempts where ${ATTEMPT}`, delivery, attempt);
    }
    case "entry": {
      const { kind, name, basedOn } = erasure.entry;
      const [row] = await ask(
        "select revision from entries where workspace = $1 and kind = $2 and name = $3",
        [workspace, kind, name],
      );
      return row?.[0] === basedOn;
    }
    case "agent":
      return (await agentIn({ ask, workspace }, erasure.agent))?.revision === erasure.basedOn;
    default:
      return assertNever(erasure);
  }
}

async function agentIn(
  { ask, workspace }: Pick<RedactContext, "ask" | "workspace">,
  id: string,
): Promise<AgentRow | undefined> {
  const [row] = await ask(
    `select ${AGENT_COLUMNS} from agents a where a.workspace = $1 and a.id = $2`,
    [workspace, id],
  );
  return row && agentOf(row);
}

async function erase({ ask, workspace, now }: RedactContext, erasure: Erasure): Promise<void> {
  switch (erasure.kind) {
    case "memory":
      await ask("update memories set text = $3 where workspace = $1 and id = $2", [
        ...[workspace, erasure.id, erasure.text],
      ]);
      await deleteVectors(ask, workspace, erasure);
      return;
    case "envelope":
      await ask("update envelopes set text = $3 where workspace = $1 and id = $2", [
        ...[workspace, erasure.id, erasure.text],
      ]);
      await deleteVectors(ask, workspace, erasure);
      return;
    case "attempt":
      await ask(`update attempts set reason = $4 where ${ATTEMPT}`, [
        ...[workspace, erasure.delivery, erasure.attempt, erasure.reason],
      ]);
      return;
    case "entry": {
      const { kind, name, value, basedOn } = erasure.entry;
      const revision = basedOn + 1;
      await ask(
        `update entries set revision = $4, at = $5, value = $6, digest = $7
         where workspace = $1 and kind = $2 and name = $3`,
        [workspace, kind, name, revision, now, value, entryDigest({ kind, name, revision, value })],
      );
      return;
    }
    case "agent": {
      const agent = await agentIn({ ask, workspace }, erasure.agent);
      if (agent === undefined) throw new Error(`agent ${erasure.agent} disappeared under the lock`);
      const { profile, basedOn } = erasure;
      const revision = basedOn + 1;
      await ask(
        "update agents set profile = $3, revision = $4, digest = $5 where workspace = $1 and id = $2",
        [workspace, agent.id, profile, revision, agentDigest({ ...agent, profile, revision })],
      );
      return;
    }
    default:
      assertNever(erasure);
  }
}

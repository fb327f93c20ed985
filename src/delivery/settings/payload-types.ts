/**
 * Payload types of a workspace: registered as JSON Schema, versioned, and enforced by every process. The data
 * of a handoff is checked, never changed; parsing with defaults is for the Standard Schemas of a process
 * (envelope/payload.ts).
 */

import { BatonError } from "../../base/errors.ts";
import { checkLimit, type Limits } from "../../base/limits.ts";
import { nearestNames } from "../../base/nearest-names.ts";
import type { JsonSchema } from "../../envelope/json-schema.ts";
import { Name } from "../../envelope/schema.ts";
import { schemaText } from "../../envelope/schema-text.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { requireAgent } from "../../memory/agents.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import {
  changeRegistry,
  requireValidSchema,
  type StoredRegistry,
  type StoredType,
  type StoredVersion,
  schemaOf,
  storedRegistry,
  storeSchema,
} from "./registry.ts";

/** One version of a payload type: the last one is enforced. */
export interface PayloadTypeVersion {
  readonly version: number;
  readonly schema: JsonSchema;
  /** When it was registered, in milliseconds since 1970. */
  readonly at: number;
  /** The agent that registered it, where one was named. */
  readonly by?: string;
}

/** A payload type as it is enforced. */
export interface PayloadTypeInfo extends PayloadTypeVersion {
  readonly name: string;
}

export interface RegisterOptions {
  /** The agent in whose name it is registered. */
  readonly by?: string | undefined;
}

const parseTypeName = (name: string): string =>
  parseOrThrow(Name, name, { code: "invalid_input", what: "The payload type", prefix: "name" });

/**
 * Registers a type, as a new version where the schema has changed. Undefined removes the type; its versions
 * are kept.
 */
export async function setPayloadType(
  workspace: Workspace,
  name: string,
  schema: JsonSchema | undefined,
  { by }: RegisterOptions = {},
): Promise<PayloadTypeInfo | undefined> {
  const type = parseTypeName(name);
  const agent = by === undefined ? undefined : (await requireAgent(workspace, by)).id;
  if (schema === undefined) {
    await changeRegistry(workspace, (now) => withoutType(now, type));
    return undefined;
  }
  const text = schemaText((await redactSecrets(workspace, { schema })).schema);
  const bytes = Buffer.byteLength(text);
  checkLimit(workspace.limits, "payloadSchemaBytes", { actual: bytes, path: "schema" });
  const digest = await requireValidSchema(type, text);
  const next = { digest, at: workspace.clock.now(), ...(agent !== undefined && { by: agent }) };
  const adding = { type, next, limits: workspace.limits };
  withVersion(await storedRegistry(workspace), adding); // A limit is checked before anything is stored.
  await storeSchema(workspace, digest, text);
  const { types = [] } = await changeRegistry(workspace, (now) => withVersion(now, adding));
  const stored = types.find((each) => each.name === type)?.versions.at(-1);
  return stored && infoOf(workspace, type, stored);
}

interface NewTypeVersion {
  readonly type: string;
  readonly next: Omit<StoredVersion, "version">;
  readonly limits: Limits;
}

/** Undefined: the type is registered with this very schema. */
function withVersion(
  now: StoredRegistry,
  { type, next, limits }: NewTypeVersion,
): StoredRegistry | undefined {
  const types = now.types ?? [];
  const { versions, removed } = types.find(({ name }) => name === type) ?? { versions: [] };
  const last = versions.at(-1);
  if (last?.digest === next.digest && !removed) return undefined;
  const added: StoredType = {
    name: type,
    versions: [...versions, { ...next, version: (last?.version ?? 0) + 1 }],
  };
  const all = [...types.filter(({ name }) => name !== type), added].sort(byName);
  const registered = all.filter((each) => !each.removed).length;
  checkLimit(limits, "payloadTypes", { actual: registered, path: "name" });
  const kept = all.reduce((sum, each) => sum + each.versions.length, 0);
  checkLimit(limits, "payloadTypeVersions", { actual: kept, path: "name" });
  return { ...now, types: all };
}

/** Undefined: there is no such type. */
function withoutType(now: StoredRegistry, type: string): StoredRegistry | undefined {
  const { types = [] } = now;
  if (!types.some(({ name, removed }) => name === type && !removed)) return undefined;
  const marked = types.map((each) =>
    each.name === type ? { ...each, removed: true as const } : each,
  );
  return { ...now, types: marked };
}

const byName = (a: StoredType, b: StoredType): number => (a.name < b.name ? -1 : 1);

async function infoOf(
  workspace: Workspace,
  name: string,
  stored: StoredVersion,
): Promise<PayloadTypeInfo> {
  return { name, ...(await versionOf(workspace, name, stored)) };
}

async function versionOf(
  workspace: Workspace,
  name: string,
  stored: StoredVersion,
): Promise<PayloadTypeVersion> {
  const { schema } = await schemaOf(workspace, name, stored);
  const { version, at, by } = stored;
  return { version, schema, at, ...(by !== undefined && { by }) };
}

/** Returns every registered type with the schema that is enforced, in the order of their names. */
export async function listPayloadTypes(workspace: Workspace): Promise<PayloadTypeInfo[]> {
  const { types = [] } = await storedRegistry(workspace);
  const current = types.flatMap(({ name, versions, removed }) => {
    const last = versions.at(-1);
    return removed || last === undefined ? [] : [infoOf(workspace, name, last)];
  });
  return Promise.all(current);
}

/** Returns every version of a type, oldest first, also of one that was removed. */
export async function listPayloadTypeVersions(
  workspace: Workspace,
  name: string,
): Promise<PayloadTypeVersion[]> {
  const type = parseTypeName(name);
  const { types = [] } = await storedRegistry(workspace);
  const found = types.find((each) => each.name === type);
  if (found === undefined) throw unknownPayloadType(type, types);
  return Promise.all(found.versions.map((stored) => versionOf(workspace, type, stored)));
}

function unknownPayloadType(type: string, types: readonly StoredType[]): BatonError {
  const known = types.map(({ name }) => name);
  const near = nearestNames(type, known);
  return new BatonError("unknown_payload_type", {
    message: `No payload type "${type}" is registered.`,
    path: "name",
    hint:
      near.length > 0
        ? `Did you mean ${near.map((each) => `"${each}"`).join(" or ")}?`
        : "hub.payloadTypes.list() lists the registered types.",
    details: { type, near },
  });
}

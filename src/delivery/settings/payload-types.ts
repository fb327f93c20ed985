/**
 * Payload types of a workspace: registered as JSON Schema, versioned, and enforced by every process. The data
 * of a handoff is checked but never changed; parsing with defaults is done by the Standard Schemas that a
 * process registers (envelope/payload.ts).
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

/** One version of a payload type. */
export interface PayloadTypeVersion {
  readonly version: number;
  readonly schema: JsonSchema;
  /** When it was registered, in milliseconds since 1970. */
  readonly at: number;
  /** The agent that registered it; absent if none was named. */
  readonly by?: string;
}

/** A payload type with its newest version, which is the enforced one. */
export interface PayloadTypeInfo extends PayloadTypeVersion {
  readonly name: string;
}

/** Options of `setPayloadType()`. */
export interface RegisterOptions {
  /** Name of the agent that registers it. */
  readonly by?: string | undefined;
}

const parseTypeName = (name: string): string =>
  parseOrThrow(Name, name, { code: "invalid_input", what: "The payload type", prefix: "name" });

/**
 * Registers a payload type, as a new version if the schema has changed, and returns it. With `schema`
 * undefined it removes the type and keeps its versions. Throws `limit_exceeded` and `invalid_input`.
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
  const text = schemaText(
    (await redactSecrets(workspace, { schema }, { limit: "payloadSchemaBytes", path: "schema" }))
      .schema,
  );
  const bytes = Buffer.byteLength(text);
  checkLimit(workspace.limits, "payloadSchemaBytes", { actual: bytes, path: "schema" });
  const digest = await requireValidSchema(type, text);
  const next = { digest, at: workspace.clock.now(), ...(agent !== undefined && { by: agent }) };
  const adding = { type, next, limits: workspace.limits };
  withVersion(await storedRegistry(workspace), adding); // Check the limits before anything is stored.
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

/** Returns the registry with the new version; undefined if the type already has this schema. */
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

/** Returns the registry with the type marked as removed; undefined if it is not registered. */
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

/** Returns every registered type with the enforced schema, sorted by name. */
export async function listPayloadTypes(workspace: Workspace): Promise<PayloadTypeInfo[]> {
  const { types = [] } = await storedRegistry(workspace);
  const current = types.flatMap(({ name, versions, removed }) => {
    const last = versions.at(-1);
    return removed || last === undefined ? [] : [infoOf(workspace, name, last)];
  });
  return Promise.all(current);
}

/** Returns every version of a type, oldest first, including a removed type. Throws `unknown_payload_type`. */
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
    message: `Payload type "${type}" is not registered.`,
    path: "name",
    hint:
      near.length > 0
        ? `Did you mean ${near.map((each) => `"${each}"`).join(" or ")}?`
        : "List the registered types: hub.payloadTypes.list().",
    details: { type, near },
  });
}

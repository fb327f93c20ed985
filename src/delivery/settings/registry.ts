/**
 * The payload type registry of a workspace: the payload types of its handoffs, each with a JSON Schema, and
 * the allowed actions. The registry is one entry, changed by compare-and-set; each schema is a separate entry
 * named by its digest, which never changes.
 *
 * A send reads the registry through a cache: no query per handoff, and a registration in another process is
 * enforced within a second. Compiled schemas are cached by digest.
 */
import { sha256 } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { GenerationalCache } from "../../base/generational-cache.ts";
import type { JsonSchema } from "../../envelope/json-schema.ts";
import { compileSchema, type SchemaCheck } from "../../envelope/schema-check.ts";
import { changeSetting } from "../../memory/audit/change-setting.ts";
import { entryValue } from "../../workspace/entries.ts";
import { SettingCache } from "../../workspace/setting-cache.ts";
import type { Workspace } from "../../workspace/workspace.ts";

const REGISTRY = { kind: "setting", name: "handoff-rules" } as const;
const SCHEMA = "payload-schema";
/** Compiled schemas per generation of the cache, shared by all workspaces of this process. */
const COMPILED = 256;

/** What can happen to a payload with a type that is not registered. */
export const UNREGISTERED_MODES = ["accept", "refuse"] as const;
/** What happens to a payload with a type that is not registered. */
export type UnregisteredMode = (typeof UNREGISTERED_MODES)[number];

/** A stored version: its schema's digest, when it was registered, and by which agent (absent: none named). */
export interface StoredVersion {
  readonly version: number;
  readonly digest: string;
  readonly at: number;
  readonly by?: string;
}

/** A stored payload type. */
export interface StoredType {
  readonly name: string;
  /** Oldest first; the last one is enforced. */
  readonly versions: readonly StoredVersion[];
  /** Present if the type was removed: its versions are kept and none is enforced. */
  readonly removed?: true;
}

/** The value of the registry's entry. */
export interface StoredRegistry {
  readonly actions?: readonly string[];
  readonly types?: readonly StoredType[];
  readonly unregistered?: UnregisteredMode;
}

/** The registry as a send uses it. */
export interface Registry {
  /** The allowed actions; empty allows any. */
  readonly actions: readonly string[];
  readonly unregistered: UnregisteredMode;
  /** The enforced version of each type. */
  readonly types: ReadonlyMap<string, StoredVersion>;
}

const EMPTY_REGISTRY: Registry = { actions: [], unregistered: "accept", types: new Map() };

/** Reads the registry from the store, without the cache. */
export async function storedRegistry({ store, name }: Workspace): Promise<StoredRegistry> {
  const entry = await store.findEntry(name, REGISTRY.kind, REGISTRY.name);
  return entryValue<StoredRegistry>(entry) ?? {};
}

function registryOf({
  actions = [],
  unregistered = "accept",
  types = [],
}: StoredRegistry): Registry {
  const current = types.flatMap(({ name, versions, removed }) => {
    const last = versions.at(-1);
    return removed || last === undefined ? [] : [[name, last] as const];
  });
  const isEmpty = actions.length === 0 && unregistered === "accept" && current.length === 0;
  return isEmpty ? EMPTY_REGISTRY : { actions, unregistered, types: new Map(current) };
}

const cache = new SettingCache(async (workspace) => registryOf(await storedRegistry(workspace)));

/** Returns the registry, at most a second old; undefined if nothing is registered. */
export async function cachedRegistry(workspace: Workspace): Promise<Registry | undefined> {
  const registry = await cache.get(workspace);
  return registry === EMPTY_REGISTRY ? undefined : registry;
}

/** Changes the registry based on its current value; `change` returns undefined to leave it unchanged. */
export async function changeRegistry(
  workspace: Workspace,
  change: (now: StoredRegistry) => StoredRegistry | undefined,
): Promise<StoredRegistry> {
  const changed = await changeSetting<StoredRegistry>(workspace, REGISTRY, (now = {}) => {
    const value = change(now);
    return value && { value };
  });
  const stored = changed ?? {};
  cache.set(workspace, registryOf(stored));
  return stored;
}

interface CompiledSchema {
  readonly schema: JsonSchema;
  readonly check: SchemaCheck;
}

const compiled = new GenerationalCache<string, CompiledSchema>(COMPILED);

/** Compiles a schema and returns its digest; throws if the schema is invalid. */
export async function requireValidSchema(type: string, text: string): Promise<string> {
  const digest = sha256(text);
  await compile(type, { digest, text });
  return digest;
}

/** Stores a schema under its digest. An existing entry has the same text and is left unchanged. */
export async function storeSchema(
  { store, name: workspace }: Workspace,
  digest: string,
  text: string,
): Promise<void> {
  await store.putEntry(workspace, { kind: SCHEMA, name: digest, value: text, basedOn: 0 });
}

/** Returns the schema of a version with its compiled check; throws `store_corrupt` if it is missing. */
export async function schemaOf(
  { store, name: workspace }: Workspace,
  type: string,
  { digest, version }: StoredVersion,
): Promise<CompiledSchema> {
  const known = compiled.get(digest);
  if (known !== undefined) return known;
  const entry = await store.findEntry(workspace, SCHEMA, digest);
  if (entry !== undefined) return compile(type, { digest, text: entry.value });
  throw new BatonError("store_corrupt", {
    message: `The schema of payload type "${type}", version ${version}, is missing from the store.`,
    path: "payload.type",
    hint: "Verify the store, then restore a backup or register the type again: hub.payloadTypes.set(…).",
    details: { type, version, digest },
  });
}

async function compile(
  type: string,
  { digest, text }: { readonly digest: string; readonly text: string },
): Promise<CompiledSchema> {
  const known = compiled.get(digest);
  if (known !== undefined) return known;
  const made = { schema: JSON.parse(text) as JsonSchema, check: await compileSchema(type, text) };
  compiled.set(digest, made);
  return made;
}

/**
 * The registry of a workspace: which payload types its handoffs carry, each by a JSON Schema, and which
 * actions they may name. One entry, changed by compare-and-set; each schema is an entry of its own, named by
 * its digest, which never changes.
 *
 * A send reads the entry through a cache: no query per handoff, and a registration in another process is
 * enforced within a second. Compiled schemas are cached by digest.
 */
import { sha256 } from "../../base/digest.ts";
import { BatonError } from "../../base/errors.ts";
import { GenerationalCache } from "../../base/generational-cache.ts";
import type { JsonSchema } from "../../envelope/json-schema.ts";
import { compileSchema, type SchemaCheck } from "../../envelope/schema-check.ts";
import { changeEntry, entryValue } from "../../workspace/entries.ts";
import { SettingCache } from "../../workspace/setting-cache.ts";
import type { Workspace } from "../../workspace/workspace.ts";

const REGISTRY = { kind: "setting", name: "handoff-rules" } as const;
const SCHEMA = "payload-schema";
/** Compiled schemas of each generation, of all workspaces of this process. */
const COMPILED = 256;

export const UNREGISTERED_MODES = ["accept", "refuse"] as const;
export type UnregisteredMode = (typeof UNREGISTERED_MODES)[number];

/** Who registered a version, and when; without `by`, no agent was named. */
export interface StoredVersion {
  readonly version: number;
  readonly digest: string;
  readonly at: number;
  readonly by?: string;
}

export interface StoredType {
  readonly name: string;
  /** Oldest first; the last one is enforced. */
  readonly versions: readonly StoredVersion[];
  /** Its versions are kept, and none is enforced. */
  readonly removed?: true;
}

/** The entry's value. */
export interface StoredRegistry {
  readonly actions?: readonly string[];
  readonly types?: readonly StoredType[];
  readonly unregistered?: UnregisteredMode;
}

export interface Registry {
  /** Empty: any. */
  readonly actions: readonly string[];
  readonly unregistered: UnregisteredMode;
  /** The version of each type that is enforced. */
  readonly types: ReadonlyMap<string, StoredVersion>;
}

const EMPTY_REGISTRY: Registry = { actions: [], unregistered: "accept", types: new Map() };

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

/** Returns the registry, at most a second old; undefined where nothing is registered. */
export async function cachedRegistry(workspace: Workspace): Promise<Registry | undefined> {
  const registry = await cache.get(workspace);
  return registry === EMPTY_REGISTRY ? undefined : registry;
}

/** Changes the registry by what it is now; `change` returns undefined to leave it. */
export async function changeRegistry(
  workspace: Workspace,
  change: (now: StoredRegistry) => StoredRegistry | undefined,
): Promise<StoredRegistry> {
  const entry = await changeEntry<StoredRegistry>(workspace, REGISTRY, (now = {}) => {
    const value = change(now);
    return value && { value };
  });
  const stored = entryValue<StoredRegistry>(entry) ?? {};
  cache.set(workspace, registryOf(stored));
  return stored;
}

interface CompiledSchema {
  readonly schema: JsonSchema;
  readonly check: SchemaCheck;
}

const compiled = new GenerationalCache<string, CompiledSchema>(COMPILED);

/** Compiles a schema, which throws where it is invalid, and returns its digest. */
export async function requireValidSchema(type: string, text: string): Promise<string> {
  const digest = sha256(text);
  await compile(type, { digest, text });
  return digest;
}

/** Stores a schema under its digest. One that is there already has the same text, and stays. */
export async function storeSchema(
  { store, name: workspace }: Workspace,
  digest: string,
  text: string,
): Promise<void> {
  await store.putEntry(workspace, { kind: SCHEMA, name: digest, value: text, basedOn: 0 });
}

/** Returns the schema of a version, with its compiled check. */
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
    message: `The schema of payload type "${type}", version ${version}, is missing.`,
    path: "payload.type",
    hint: "Verify the store, and restore a backup or register the type again.",
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

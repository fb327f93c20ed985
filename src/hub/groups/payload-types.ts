/** `hub.payloadTypes`: schemas of payloads, in this process and in the workspace. */
import {
  listPayloadTypes,
  listPayloadTypeVersions,
  type PayloadTypeInfo,
  type PayloadTypeVersion,
  type RegisterOptions,
  setPayloadType,
} from "../../delivery/settings/payload-types.ts";
import type { JsonSchema } from "../../envelope/json-schema.ts";
import type { PayloadType } from "../../envelope/payload-types.ts";
import { Name } from "../../envelope/schema.ts";
import type { StandardSchemaV1 } from "../../envelope/standard-schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import type { Workspace } from "../../workspace/workspace.ts";

/** `hub.payloadTypes`: schemas that payloads must match. */
export interface HubPayloadTypes {
  /**
   * Parses payloads of a type in this process with any Standard Schema, including defaults, transforms and
   * its TypeScript type. Other processes are not affected; see `set`.
   */
  define<T>(name: string, schema: StandardSchemaV1<unknown, T>): Promise<PayloadType<T>>;
  /**
   * Registers a payload type in the workspace by a JSON Schema. Within a second, every process refuses a
   * handoff with a payload that does not match. A changed schema becomes a new version.
   */
  set(name: string, schema: JsonSchema, options?: RegisterOptions): Promise<PayloadTypeInfo>;
  /** Removes a payload type. Its versions stay readable. Does nothing if it does not exist. */
  delete(name: string, options?: RegisterOptions): Promise<void>;
  /** Returns the registered payload types, each with the schema that is enforced. */
  list(): Promise<PayloadTypeInfo[]>;
  /**
   * Returns every version of a payload type, oldest first, also after it was removed. Throws
   * `unknown_payload_type`.
   */
  versions(name: string): Promise<PayloadTypeVersion[]>;
}

/** Returns `hub.payloadTypes` for a workspace. */
export const hubPayloadTypes = (workspace: Workspace): HubPayloadTypes => ({
  async define<T>(name: string, schema: StandardSchemaV1<unknown, T>) {
    const how = { code: "invalid_input", what: "The payload type", prefix: "type" } as const;
    return workspace.payloads.register<T>(parseOrThrow(Name, name, how), schema);
  },
  set: async (name, schema, options = {}) =>
    // null is refused like any other value that is not a schema; undefined would remove the type.
    (await setPayloadType(workspace, name, schema ?? (null as never), options)) as PayloadTypeInfo,
  async delete(name, options = {}) {
    await setPayloadType(workspace, name, undefined, options);
  },
  list: () => listPayloadTypes(workspace),
  versions: (name) => listPayloadTypeVersions(workspace, name),
});

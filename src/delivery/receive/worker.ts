/** Who works: an author with a role, and what its leases are bound to. */
import type { Author } from "../../memory/record.ts";

/**
 * "process": a heartbeat renews the lease while the process lives, and its death ends it. "session":
 * for one that lives in many short processes, and is alive as long as it calls now and then.
 */
export const LEASE_KINDS = ["process", "session"] as const;
export type LeaseKind = (typeof LEASE_KINDS)[number];

export interface Worker extends Author {
  readonly role?: string | undefined;
  readonly lease: LeaseKind;
}

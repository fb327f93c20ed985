/** An agent that receives work: an author with a role, and what its leases are bound to. */
import type { Author } from "../../memory/record.ts";

/**
 * What a lease is bound to. "process": a heartbeat renews the lease while the process lives, and its end
 * releases the lease. "session": for an agent that runs as many short processes; every call renews the lease.
 */
export const LEASE_KINDS = ["process", "session"] as const;
/** What a lease is bound to. */
export type LeaseKind = (typeof LEASE_KINDS)[number];

/** An agent that receives work. */
export interface Worker extends Author {
  readonly role?: string | undefined;
  readonly lease: LeaseKind;
}

/** Runs a method of an agent. Each call of a session renews the leases of that session. */
export type Call = <T>(run: () => Promise<T>) => Promise<T>;

/** Runs a method of a hub, which has no session and so nothing to renew. */
export const plainCall: Call = (run) => run();

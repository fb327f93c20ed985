/** How the methods of an agent run: each call of a session renews the leases of that session. */
export type Call = <T>(run: () => Promise<T>) => Promise<T>;

/** A hub has no session: its calls run as they are. */
export const plainCall: Call = (run) => run();

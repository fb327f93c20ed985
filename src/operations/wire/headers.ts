/** The headers of a call: who is calling, from which session, on which branch. */
export const HEADERS = {
  agent: "baton-agent",
  session: "baton-session",
  branch: "baton-branch",
  /** How long the session may be silent, in milliseconds, before its leases end. */
  silence: "baton-silence-ms",
  /** The workspace, where no token names it. */
  workspace: "baton-workspace",
  /** Calls with the same key are one call. */
  key: "idempotency-key",
  /** Set on an answer that was given before. */
  replayed: "idempotency-replayed",
} as const;

/** The HTTP headers of a call: agent, session, branch, workspace and idempotency key. */
export const HEADERS = {
  agent: "baton-agent",
  session: "baton-session",
  branch: "baton-branch",
  /** How long the session can go without a call before its leases end, in milliseconds. */
  sessionMs: "baton-session-ms",
  /** The workspace, if no token names it. */
  workspace: "baton-workspace",
  /** A repeated call with the same key returns the first response and does nothing else. */
  key: "idempotency-key",
  /** Sent by the SDK's client: hints name SDK methods instead of routes. */
  client: "baton-client",
  /** Set on a response that repeats an earlier one. */
  replayed: "idempotency-replayed",
} as const;

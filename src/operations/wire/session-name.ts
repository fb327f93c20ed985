/**
 * Returns the stored name of a session: for an agent-bound token, the session name prefixed with the agent's
 * name. Records private to a session are shown to every caller in that session, and its name is not secret,
 * so an agent-bound token must not be able to join another agent's session. Agent names contain no spaces,
 * so two agents never produce the same name.
 */
export const sessionNameFor = (bound: string | undefined, session: string): string =>
  bound === undefined || session.startsWith(`${bound} `) ? session : `${bound} ${session}`;

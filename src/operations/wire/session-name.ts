/**
 * The session of an agent that comes with a token of its own: nobody else's, whatever it is called. What is
 * private to a session is shown to whoever is in it, and its name is no secret: so the agent's stands before
 * it. Agents' names have no spaces, so no two of them make the same.
 */
export const sessionNameFor = (bound: string | undefined, session: string): string =>
  bound === undefined || session.startsWith(`${bound} `) ? session : `${bound} ${session}`;

/**
 * Access levels of tokens: what the bearer of a token may do. There are four; each includes the one before.
 *
 * - `reader` reads what the whole team sees, except what other agents traced.
 * - `agent` also acts as itself: remembers, traces, sends handoffs, accepts, settles, reserves, cancels what
 *   it sent, quarantines what it wrote. It may also run SQL queries, which read no more than a reader sees, but use
 *   database time.
 * - `coordinator` also acts on the work of others and on the rules of the team: decides about failures;
 *   redrives, discards and cancels what others sent; quarantines and lifts what others wrote; changes channels, routes, breakers, pauses, lint rules,
 *   profiles, releasers and keepers, payload types and allowed actions; registers agents.
 * - `admin` also administers the workspace: tokens, export, import and backup, redaction, retention and
 *   pruning, deleting vectors; owners of agents, and disabling agents.
 *
 * The rules of a workspace (the releasers of ledgers, the keepers of the shared context) apply in addition:
 * the access level limits which calls a token may make, the role of its agent what the team permits it to do.
 */
export const ACCESS_LEVELS = ["reader", "agent", "coordinator", "admin"] as const;
export type Access = (typeof ACCESS_LEVELS)[number];

/**
 * Returns true if one level includes another. An unknown level (a damaged row, a newer version of Baton)
 * includes nothing.
 */
export function hasAccess(has: Access, needs: Access): boolean {
  return ACCESS_LEVELS.indexOf(has) >= ACCESS_LEVELS.indexOf(needs);
}

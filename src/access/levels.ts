/**
 * What whoever has a token may do: four levels, each with all of the one before.
 *
 * - `reader` looks at what the whole team sees.
 * - `agent` also acts as itself: remembers, traces, hands over, accepts, settles, reserves, takes back
 *   what it sent, quarantines. It may also ask in SQL, which reads no more than a reader sees, but
 *   takes the database's time.
 * - `coordinator` also acts on the work of others and on the team's rules: decides about failures;
 *   redrives, discards and cancels what others sent; channels, routes, breakers, pauses, lint rules,
 *   profiles, releasers and keepers, payload types and allowed actions; registers agents.
 * - `admin` also keeps the workspace: tokens, export, import and backup, redaction, retention and
 *   pruning, lifting a quarantine, dropping vectors.
 *
 * A workspace's own rules (the releasers of a ledger, the keepers of the shared context) hold besides:
 * access says what a token may ask for, the role of its agent what the team lets it do.
 */
export const ACCESS_LEVELS = ["reader", "agent", "coordinator", "admin"] as const;
export type Access = (typeof ACCESS_LEVELS)[number];

/** A level that is none of these (a damaged row, a newer Baton) reaches nothing. */
export function hasAccess(has: Access, needs: Access): boolean {
  return ACCESS_LEVELS.indexOf(has) >= ACCESS_LEVELS.indexOf(needs);
}

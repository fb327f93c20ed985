/**
 * Checks the schema version of a store against the steps that create and upgrade it. A store records the
 * version and name of each step it has applied, so that opening it shows which steps are missing, and whether
 * the recorded ones are known to this version.
 */
import { BatonError } from "../base/errors.ts";

/** One step of the schema. Never edited after a release: a schema change is a new step. */
export interface SchemaStep {
  /** Counts from 1, without gaps. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/**
 * Returns the version of a store with these recorded steps; 0 if there are none. Throws `store_too_new` if
 * there is a step beyond the known ones, and `store_too_old` if a recorded step is not the known one.
 */
export function schemaVersion(
  recorded: readonly Pick<SchemaStep, "version" | "name">[],
  { steps, store }: { readonly steps: readonly SchemaStep[]; readonly store: string },
): number {
  for (const { version, name } of recorded) {
    const known = steps[version - 1];
    if (known !== undefined && known.name !== name) throw tooOld(store, known, name);
  }
  const found = Math.max(0, ...recorded.map(({ version }) => version));
  if (found > steps.length) throw tooNew(store, found, steps.length);
  return found;
}

/** Development versions before the first release recorded other steps under the same numbers. */
function tooOld(store: string, { version, name }: SchemaStep, found: string): BatonError {
  return new BatonError("store_too_old", {
    message: `${store} was written by an unreleased development version of Baton: schema step ${version} is "${found}", expected "${name}".`,
    path: store,
    hint: "Export each workspace with that version (baton export), then import it into a new store with this one (baton import); nothing was changed.",
    details: { version, found, expected: name },
  });
}

function tooNew(store: string, found: number, known: number): BatonError {
  return new BatonError("store_too_new", {
    message: `${store} has schema version ${found}; this Baton knows versions up to ${known}.`,
    path: store,
    hint: "Upgrade batonpass (npm install batonpass@latest); nothing was changed.",
    details: { found, known },
  });
}

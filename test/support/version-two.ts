/**
 * A version 2.0 of the envelope that exists in tests only. It renames fields (`intent` to `goal`,
 * and a constraint's `rule` to `text`), splits one (`state` into `headline` and `details`), drops
 * one (`doNotRedo`), and adds one that 1.x does not have (`audience`). A value without a field in
 * the other form is kept there as an unknown field.
 */
import {
  type EnvelopeForm,
  EnvelopeVersions,
  type MajorVersionMigration,
} from "../../src/envelope/versions.ts";

type Item = Readonly<Record<string, unknown>>;

/** Returns the item with a field under another name. */
function renamed(item: Item, from: string, to: string): Item {
  const { [from]: value, ...rest } = item;
  return value === undefined ? rest : { ...rest, [to]: value };
}

const constraintsOf = ({ constraints }: EnvelopeForm): readonly Item[] =>
  (constraints ?? []) as readonly Item[];

function up(older: EnvelopeForm): EnvelopeForm {
  const { state, doNotRedo = [], ...rest } = renamed(older, "intent", "goal");
  const [headline, ...details] = typeof state === "string" ? state.split("\n") : [];
  return {
    ...rest,
    constraints: constraintsOf(older).map((item) => renamed(item, "rule", "text")),
    ...(headline !== undefined && { headline }),
    ...(details.length > 0 && { details: details.join("\n") }),
    ...((doNotRedo as readonly unknown[]).length > 0 && { doNotRedo }),
  };
}

function down(newer: EnvelopeForm): EnvelopeForm {
  const { headline, details, ...rest } = renamed(newer, "goal", "intent");
  const lines = [headline, details].filter((part) => part !== undefined);
  return {
    doNotRedo: [],
    ...rest,
    constraints: constraintsOf(newer).map((item) => renamed(item, "text", "rule")),
    ...(lines.length > 0 && { state: lines.join("\n") }),
  };
}

export const STEP: MajorVersionMigration = {
  from: 1,
  to: 2,
  up,
  down,
  deprecated: [
    { path: "intent", since: "2.0", use: "goal" },
    { path: "constraints[].rule", since: "2.0", use: "constraints[].text" },
    { path: "state", since: "2.0", use: "headline and details" },
    { path: "doNotRedo", since: "2.0", use: "done" },
  ],
};

/** Reads both versions, and writes 2.0 in a form that 1.x can also read. */
export const MIGRATING = new EnvelopeVersions({ steps: [STEP], writes: "2.0", alongside: ["1.0"] });

/** After the migration period: reads both versions, and writes 2.0 only. */
export const MIGRATED = new EnvelopeVersions({ steps: [STEP], writes: "2.0" });

/** Sends a field that only 2.0 has. */
export const SAYS_AUDIENCE = new EnvelopeVersions({
  steps: [{ ...STEP, up: (older) => ({ audience: ["mobile"], ...up(older) }) }],
  writes: "2.0",
  alongside: ["1.0"],
});

/** Lint rule `deprecated_field`: reports a deprecated field while both its old and new form are accepted. */
import { deprecationsIn } from "../../envelope/deprecations.ts";
import type { Draft, Envelope } from "../../envelope/schema.ts";
import type { LintRule } from "./rule.ts";

/** Reports fields that a later version of the envelope will not have. */
export const deprecatedField: LintRule = {
  level: "warn",
  meaning: "A field is used that a later version of the envelope will not have",

  read: ({ given, workspace: { versions } }) =>
    deprecationsIn(given as Partial<Draft> | Partial<Envelope>, versions).map(
      ({ path, since, use }) => ({
        path,
        message: `${path}: is deprecated since version ${since}`,
        hint: `Use ${use} instead.`,
      }),
    ),
};

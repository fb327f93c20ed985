/**
 * Finds deprecated fields in a draft or an envelope: the path, the version that deprecated the field, and its
 * replacement.
 */
import type { Draft, Envelope } from "./schema.ts";
import type { DeprecatedField, EnvelopeVersions } from "./versions.ts";
import { formatPath } from "./violations.ts";

/** Returns each use of a deprecated field, with the path of that use. */
export function deprecationsIn(
  fields: Partial<Draft> | Partial<Envelope>,
  { deprecated }: EnvelopeVersions,
): readonly DeprecatedField[] {
  return deprecated.flatMap(({ path, since, use }) =>
    usesOf(fields, path.split(".")).map((used) => ({ path: formatPath(used), since, use })),
  );
}

type Path = readonly (string | number)[];

/** An empty list does not count as a use. */
function usesOf(value: unknown, [step, ...rest]: readonly string[]): Path[] {
  if (step === undefined) return isPresent(value) ? [[]] : [];
  if (typeof value !== "object" || value === null) return [];
  const isList = step.endsWith("[]");
  const name = isList ? step.slice(0, -2) : step;
  const part = (value as Readonly<Record<string, unknown>>)[name];
  if (!isList) return usesOf(part, rest).map((path) => [name, ...path]);
  const items: readonly unknown[] = Array.isArray(part) ? part : [];
  return items.flatMap((item, i) => usesOf(item, rest).map((path) => [name, i, ...path]));
}

const isPresent = (value: unknown): boolean =>
  value !== undefined && !(Array.isArray(value) && value.length === 0);

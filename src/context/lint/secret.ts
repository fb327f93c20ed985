/**
 * A secret in what is handed over: an envelope is for good, everybody may read it, and it goes to
 * models. Told by kind and place, never by itself, not even where it is the name of a field.
 */
import { type FoundSecret, secretsIn } from "../../envelope/secrets.ts";
import type { LintRule, Remark } from "./rule.ts";

const HINT =
  "Take it out and say where it is kept (a vault, a variable); if it was stored before, redact it and change it.";

export const secret: LintRule = {
  level: "error",
  meaning: "A key, a password or a token stands in it",

  check: ({ letter }) => secretsUnder(letter, ""),
};

/** In every text and every name of a field below this place. */
function secretsUnder(value: unknown, path: string, name = ""): Remark[] {
  if (typeof value === "string") return found(secretsIn(`${name}=${value}`), path);
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => secretsUnder(item, `${path}[${i}]`, name));
  }
  return Object.entries(value).flatMap(([key, item]) => {
    const inName = secretsIn(key);
    const place = inName.length === 0 ? key : "…";
    const at = path === "" ? place : `${path}.${place}`;
    return [...found(inName, at), ...secretsUnder(item, at, key)];
  });
}

function found(secrets: readonly FoundSecret[], path: string): Remark[] {
  const kinds = [...new Set(secrets.map(({ kind }) => kind))];
  return kinds.map((kind) => ({
    path,
    message: `${path}: looks like a secret (${kind})`,
    hint: HINT,
  }));
}

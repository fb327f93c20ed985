/** Checks whether a response matches the OpenAPI description. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { openApi } from "../../../src/http/openapi.ts";
import type { Described, Schema } from "./described.ts";

const { components } = openApi();

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema({ $id: "baton", components } as Schema);

const validators = new Map<string, ValidateFunction>();

/** Returns the violations of the described schema; empty if the body matches. */
export function wrongIn({ name, answer }: Pick<Described, "name" | "answer">, body: unknown) {
  if (answer === undefined) return [];
  const known = validators.get(name);
  const validate = known ?? ajv.compile(pointed(answer) as Schema);
  if (known === undefined) validators.set(name, validate);
  if (validate(body)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

const PROBLEM = { name: "a problem", answer: { $ref: "#/components/schemas/Problem" } };

export const wrongInProblem = (body: unknown): string[] => wrongIn(PROBLEM, body);

/** Makes references absolute, so that they resolve from any schema. */
function pointed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(pointed);
  if (typeof part !== "object" || part === null) return part;
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [
      key,
      key === "$ref" && typeof value === "string" ? value.replace(/^#/, "baton#") : pointed(value),
    ]),
  );
}

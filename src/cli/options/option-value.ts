/** Parses the value of an option according to its type; errors state the expected form. */
import { readFileSync } from "node:fs";
import type { OptionSpec } from "../command.ts";
import { usageError } from "../usage-error.ts";
import { requireChoice } from "./choice.ts";
import { parseDuration } from "./duration.ts";

interface OptionToken {
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

/** Returns the parsed value; throws `invalid_input` if it is missing or malformed. */
export function readValue(spec: OptionSpec, { rawName, value, inlineValue }: OptionToken): unknown {
  if (spec.type === "flag") {
    if (value === undefined) return true;
    throw usageError(
      rawName,
      `${rawName} does not take a value.`,
      `Write ${rawName} without a value.`,
    );
  }
  if (value === undefined || (value.startsWith("-") && inlineValue !== true)) {
    throw usageError(
      rawName,
      `${rawName} needs a value.`,
      `Write ${rawName}=${spec.value} or ${rawName} ${spec.value}.`,
    );
  }
  switch (spec.type) {
    case "text":
      requireChoice(value, spec.choices, {
        message: `Invalid ${rawName} "${value}": not one of its values.`,
        path: rawName,
      });
      return value;
    case "texts":
      return value;
    case "number":
      return readNumber(rawName, value);
    case "duration":
      return parseDuration(rawName, value);
    case "json":
      return readJson(rawName, value);
  }
}

function readNumber(rawName: string, value: string): number {
  const number = Number(value);
  if (value.trim() !== "" && Number.isSafeInteger(number)) return number;
  throw usageError(
    rawName,
    `Invalid ${rawName} "${value}": expected a whole number.`,
    "Write a number such as 20.",
  );
}

function readJson(rawName: string, value: string): unknown {
  const text = value.startsWith("@") ? readText(rawName, value.slice(1)) : value;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usageError(
      rawName,
      `${rawName} is not valid JSON: ${(error as Error).message}.`,
      `Write JSON in single quotes ('{"a":1}'), or @<file> to read it from a file.`,
    );
  }
}

function readText(rawName: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw usageError(
      rawName,
      `Cannot read the file ${file} of ${rawName} (${(error as NodeJS.ErrnoException).code}).`,
      "Check the path after the @.",
    );
  }
}

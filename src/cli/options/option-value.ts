/** The value of an option, read as what it is; or an error that says how to write it. */
import { readFileSync } from "node:fs";
import type { OptionSpec } from "../command.ts";
import { usageError } from "../usage-error.ts";
import { requireChoice } from "./choice.ts";

interface OptionToken {
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

export function readValue(spec: OptionSpec, { rawName, value, inlineValue }: OptionToken): unknown {
  if (spec.type === "flag") {
    if (value === undefined) return true;
    throw usageError(rawName, `${rawName} takes no value.`, `Write ${rawName} alone.`);
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
        message: `${rawName} is "${value}", which is none of its values.`,
        path: rawName,
      });
      return value;
    case "texts":
      return value;
    case "number":
      return readNumber(rawName, value);
    case "duration":
      return readDuration(rawName, value);
    case "json":
      return readJson(rawName, value);
  }
}

function readNumber(rawName: string, value: string): number {
  const number = Number(value);
  if (value.trim() !== "" && Number.isSafeInteger(number)) return number;
  throw usageError(
    rawName,
    `${rawName} is "${value}", which is not a whole number.`,
    "Write digits.",
  );
}

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 24 * 3_600_000 } as const;

function readDuration(rawName: string, value: string): number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) ?? [];
  const ms = Math.round(Number(number) * (UNITS[unit as keyof typeof UNITS] ?? 0));
  if (ms > 0 && Number.isSafeInteger(ms)) return ms;
  throw usageError(
    rawName,
    `${rawName} is "${value}", which is no length of time.`,
    "Write a number and its unit, as in 15s, 5m, 2h or 1d.",
  );
}

function readJson(rawName: string, value: string): unknown {
  const text = value.startsWith("@") ? readText(rawName, value.slice(1)) : value;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usageError(
      rawName,
      `${rawName} is no JSON: ${(error as Error).message}.`,
      `Write JSON in single quotes ('{"a":1}'), or @<file> for what stands in a file.`,
    );
  }
}

function readText(rawName: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw usageError(
      rawName,
      `${rawName}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`,
      "Check the path after the @.",
    );
  }
}

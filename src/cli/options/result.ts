/** From options to a result: values take the types the handoff asks for. */

import { nearestNames } from "../../base/nearest-names.ts";
import type { Result } from "../../delivery/send/result.ts";
import type { Envelope } from "../../envelope/schema.ts";
import type { OptionSpecs } from "../command.ts";
import { didYouMean, usageError } from "../usage-error.ts";
import { omitUndefined } from "./omit-undefined.ts";

type Expects = Envelope["expects"];

export const OUTPUT_OPTIONS = {
  output: { type: "texts", value: "<name=value>", help: "an output by its name: text or JSON" },
} as const satisfies OptionSpecs;

interface ResultOptions {
  readonly output: readonly string[] | undefined;
  readonly met: readonly string[] | undefined;
  /** A result in JSON; the rest adds to it. */
  readonly result: unknown;
  readonly summary?: string;
  readonly outcome?: string;
}

export async function resultOf(
  expects: Expects,
  { output, met, result, ...said }: ResultOptions,
): Promise<Result> {
  const whole = (result ?? {}) as Result; // The library says what is wrong with it.
  const outputs = await outputsOf(expects, output);
  return {
    ...whole,
    ...omitUndefined({
      outputs: outputs && { ...whole.outputs, ...outputs },
      criteria: metBy(expects, met),
    }),
    ...said,
  };
}

/** Undefined when none was given. */
export async function outputsOf(
  expects: Expects,
  output: readonly string[] | undefined,
): Promise<Record<string, unknown> | undefined> {
  if (output === undefined) return undefined;
  const { isTextType: isText } = await import("../../delivery/send/expected-outputs.ts");
  const values = output.map((text) => {
    const { name, value } = splitOutput(text);
    const expected = expects.find((each) => each.name === name);
    if (expected === undefined) refuseMistyped(expects, name);
    const plain = expected !== undefined && isText(expected.type);
    return [name, plain ? value : parseJsonOrText(value)] as const;
  });
  return Object.fromEntries(values);
}

function splitOutput(text: string): { readonly name: string; readonly value: string } {
  const at = text.indexOf("=");
  if (at > 0) return { name: text.slice(0, at).trim(), value: text.slice(at + 1) };
  throw usageError(
    "--output",
    `--output is "${text}", which has no name and value.`,
    'Write --output <name>=<value>, as in --output report="It works."',
  );
}

/** More outputs than asked for are fine; one that is nearly the name of another is a slip. */
function refuseMistyped(expects: Expects, name: string): void {
  const near = nearestNames(
    name,
    expects.map((each) => each.name),
  );
  if (near.length === 0) return;
  throw usageError("--output", `The handoff asks for no output "${name}".`, didYouMean(near) ?? "");
}

function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function metBy(
  expects: Expects,
  met: readonly string[] | undefined,
): Record<string, string[]> | undefined {
  if (met === undefined) return undefined;
  const known = expects.flatMap(({ criteria }) => criteria);
  for (const criterion of met) {
    if (known.includes(criterion)) continue;
    throw usageError(
      "--met",
      `The handoff has no criterion "${criterion}".`,
      didYouMean(nearestNames(criterion, known)) ??
        (known.length === 0 ? "It has none at all." : `Known: ${known.join("; ")}.`),
    );
  }
  return Object.fromEntries(
    expects.map(({ name, criteria }) => [name, criteria.filter((each) => met.includes(each))]),
  );
}

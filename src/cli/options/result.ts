/** Builds a result from options; output values get the types that the handoff expects. */

import { nearestNames } from "../../base/nearest-names.ts";
import type { Result } from "../../delivery/send/result.ts";
import type { Envelope } from "../../envelope/schema.ts";
import type { OptionSpecs } from "../command.ts";
import { didYouMean, usageError } from "../usage-error.ts";
import { omitUndefined } from "./omit-undefined.ts";

type Expects = Envelope["expects"];

/** Option for the outputs of a result. */
export const OUTPUT_OPTIONS = {
  output: { type: "texts", value: "<name=value>", help: "output by name, as text or JSON" },
} as const satisfies OptionSpecs;

interface ResultOptions {
  readonly output: readonly string[] | undefined;
  readonly met: readonly string[] | undefined;
  /** A result as JSON; the other options override its fields. */
  readonly result: unknown;
  readonly summary?: string;
  readonly outcome?: string;
}

/** Builds the result; throws if an output or criterion is misspelled. */
export async function resultOf(
  expects: Expects,
  { output, met, result, ...fields }: ResultOptions,
): Promise<Result> {
  const whole = (result ?? {}) as Result; // The library validates it.
  const outputs = await outputsOf(expects, output);
  return {
    ...whole,
    ...omitUndefined({
      outputs: outputs && { ...whole.outputs, ...outputs },
      criteria: metBy(expects, met),
    }),
    ...fields,
  };
}

/** Parses --output; undefined if there is none. Outputs of text types stay text, others may be JSON. */
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
    `Invalid --output "${text}": expected <name>=<value>.`,
    'Write --output <name>=<value>, for example --output report="It works."',
  );
}

/** Throws if the name resembles an expected output: extra outputs are allowed, a near match is a typo. */
function refuseMistyped(expects: Expects, name: string): void {
  const near = nearestNames(
    name,
    expects.map((each) => each.name),
  );
  if (near.length === 0) return;
  throw usageError(
    "--output",
    `The handoff does not expect an output "${name}".`,
    didYouMean(near) ?? "",
  );
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
        (known.length === 0
          ? "Omit --met: the handoff has no criteria."
          : `Use one of: ${known.join("; ")}.`),
    );
  }
  return Object.fromEntries(
    expects.map(({ name, criteria }) => [name, criteria.filter((each) => met.includes(each))]),
  );
}

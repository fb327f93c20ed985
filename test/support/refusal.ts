/** Asserts that a call is refused as promised: with a code, a path and a hint. */
import { expect } from "vitest";
import { BatonError, type ErrorCode } from "../../src/index.ts";

export interface ExpectedRefusal {
  readonly code: ErrorCode;
  /** The exact path, or a pattern for it. */
  readonly path?: string | RegExp;
  readonly hint?: string | RegExp;
  readonly rule?: string;
}

/** Runs a call that must be refused, and returns the error for further checks. */
export async function refused(act: () => unknown, expected: ExpectedRefusal): Promise<BatonError> {
  const error = await thrownBy(act);
  if (!(error instanceof BatonError)) {
    expect.fail(`refused with ${describeThrown(error)} instead of a BatonError`);
  }
  expect(error.code, error.message).toBe(expected.code);
  expect(error.hint, "the hint").toMatch(/\S.*/);
  if (expected.path !== undefined)
    expect(error.path, error.message).toMatch(exactly(expected.path));
  if (expected.hint !== undefined) expect(error.hint).toMatch(expected.hint);
  if (expected.rule !== undefined) {
    expect(error.violations.map(({ rule }) => rule)).toContain(expected.rule);
  }
  return error;
}

async function thrownBy(act: () => unknown): Promise<unknown> {
  let returned: unknown;
  try {
    returned = await act();
  } catch (error) {
    return error;
  }
  return expect.fail(`not refused: returned ${JSON.stringify(returned)?.slice(0, 200)}`);
}

function exactly(path: string | RegExp): RegExp {
  return path instanceof RegExp ? path : new RegExp(`^${RegExp.escape(path)}$`);
}

function describeThrown(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

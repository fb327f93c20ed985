/**
 * Searches an input for secrets: a small one at once, a large one in a worker thread, because searching 16 MB
 * takes tenths of a second, in which the hub would answer no other call. The thread is started with the first
 * large input and shared by all hubs of the process.
 */
import { JobThread } from "../../base/job-thread.ts";
import {
  type FieldText,
  type FindInField,
  findInField,
  type MaskedValue,
  maskSecrets,
  textsOf,
} from "../../envelope/mask-secrets.ts";
import type { SecretMatch } from "../../envelope/secrets.ts";

/** Inputs above this size are searched in the thread: below, handing over costs as much as searching. */
export const MAX_INLINE_SIZE = 64 * 1024;

let thread: JobThread<readonly FieldText[], readonly (readonly SecretMatch[])[]> | undefined;

const NONE: ReadonlySet<string> = new Set();

/**
 * Returns the input with every secret masked; a promise if it is larger than MAX_INLINE_SIZE. Ambiguous findings
 * whose text is in `allowed` stay.
 */
export const scanForSecrets = <T>(
  value: T,
  size: number,
  allowed = NONE,
): MaskedValue<T> | Promise<MaskedValue<T>> =>
  size <= MAX_INLINE_SIZE
    ? maskSecrets(value, allowed === NONE ? findInField : without(allowed, findInField))
    : scanInThread(value, allowed);

/** Leaves out the findings that are allowed. */
const without =
  (allowed: ReadonlySet<string>, find: FindInField): FindInField =>
  (field) =>
    find(field).filter(
      ({ ambiguous, at, end }) => !(ambiguous && allowed.has(field.text.slice(at, end))),
    );

async function scanInThread<T>(value: T, allowed: ReadonlySet<string>): Promise<MaskedValue<T>> {
  const texts = textsOf(value);
  const matches = await matchesOf(texts);
  const found = new Map<string, Map<string, readonly SecretMatch[]>>();
  for (const [i, { text, name }] of texts.entries()) {
    const ofName = found.get(name) ?? new Map<string, readonly SecretMatch[]>();
    found.set(name, ofName.set(text, matches[i] ?? []));
  }
  return maskSecrets(
    value,
    without(allowed, ({ text, name }) => found.get(name)?.get(text) ?? []),
  );
}

/** Searches here if there is no thread: it may be forbidden (`node --permission`) or may have ended. */
async function matchesOf(
  texts: readonly FieldText[],
): Promise<readonly (readonly SecretMatch[])[]> {
  try {
    thread ??= new JobThread("secrets", { module: "./scan-thread", base: import.meta.url });
    return await thread.run(texts);
  } catch {
    return texts.map((field) => findInField(field));
  }
}

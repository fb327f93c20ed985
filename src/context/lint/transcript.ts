/**
 * Lint rule `transcript`: a pasted conversation makes the receiver work out again what it led to, and is paid
 * for at every hop. Refused by default. Text that was already in the received work is not reported, since an
 * earlier sender wrote it.
 */
import { isDeepStrictEqual } from "node:util";
import { isMessageList, isTranscript } from "../../text/transcript.ts";
import { isNested, textsOf } from "./handoff-content.ts";
import type { HandoffContent, LintRule, LintSubject, Remark } from "./rule.ts";

/** Refuses raw conversations, as text or as lists of messages. */
export const transcript: LintRule = {
  level: "error",
  binding: "refuse",
  meaning: "A raw conversation was pasted in",

  read: (subject) => {
    if (!mayContainTranscript(subject.given)) return [];
    const { letter } = subject;
    const places = [...textPlaces(letter), ...messageLists(letter.payload?.data, "payload.data")];
    return places.filter((path) => isNew(subject, path)).map(remarkOn);
  },
};

/** Quick check, run for every send: false if no text has several lines or JSON, and no list has messages. */
function mayContainTranscript(value: unknown, ancestors: object[] = []): boolean {
  if (typeof value === "string") return value.includes("\n") || value.includes("{");
  if (!isNested(value, ancestors)) return false;
  ancestors.push(value);
  const may = Array.isArray(value)
    ? value.some((item) => mayContainTranscript(item, ancestors)) || isMessageList(value)
    : Object.values(value).some((item) => mayContainTranscript(item, ancestors));
  ancestors.pop();
  return may;
}

const remarkOn = (path: string): Remark => ({
  path,
  message: `${path}: contains a raw conversation`,
  hint: 'Write its conclusions instead. To keep the conversation, remember it and refer to that record with a summary, refs: [{ id, summary }]. To allow conversations in this workspace: hub.settings.update({ lint: { transcript: "warn" } }).',
});

/** Returns whether this sender wrote the text, rather than an earlier one. */
function isNew({ letter, before }: LintSubject, path: string): boolean {
  if (before === undefined) return true;
  const field = path.split(/[.[]/, 1)[0] as keyof HandoffContent & keyof typeof before;
  return !isDeepStrictEqual(letter[field], before[field]);
}

const textPlaces = (letter: HandoffContent): string[] =>
  textsOf(letter)
    .filter(({ text }) => isTranscript(text))
    .map(({ path }) => path);

/** Returns the paths of message lists that were not converted to text. */
function messageLists(value: unknown, path: string, ancestors: readonly object[] = []): string[] {
  if (!isNested(value, ancestors)) return [];
  const within = [...ancestors, value];
  if (!Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, item]) =>
      messageLists(item, `${path}.${key}`, within),
    );
  }
  if (isMessageList(value)) return [path];
  return value.flatMap((item, i) => messageLists(item, `${path}[${i}]`, within));
}

/**
 * A conversation pasted in: the receiver has to work out again what came of it, and it is paid for at
 * every hop. Refused by default. What stood in the work that is handed on was said by an earlier sender.
 */
import { isDeepStrictEqual } from "node:util";
import { isMessageList, isTranscript } from "../../text/transcript.ts";
import { isNested, textsOf } from "./handoff-content.ts";
import type { HandoffContent, LintRule, LintSubject, Remark } from "./rule.ts";

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

/** False: no text in it has several lines or is JSON, and no list has messages. Asked of every handoff that is sent. */
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
  message: `${path}: is a conversation as it went`,
  hint: 'Write what came of it. To keep the conversation, remember it and refer to that record with a summary, refs: [{ id, summary }]. To allow conversations in this workspace: hub.settings.update({ lint: { transcript: "warn" } }).',
});

/** Whether this sender wrote it. */
function isNew({ letter, before }: LintSubject, path: string): boolean {
  if (before === undefined) return true;
  const field = path.split(/[.[]/, 1)[0] as keyof HandoffContent & keyof typeof before;
  return !isDeepStrictEqual(letter[field], before[field]);
}

const textPlaces = (letter: HandoffContent): string[] =>
  textsOf(letter)
    .filter(({ text }) => isTranscript(text))
    .map(({ path }) => path);

/** Lists of messages that were not even made a text of. */
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

/** A conversation pasted in: whoever reads it has to find out again what came of it. */
import { isTranscript } from "../transcript.ts";
import { textsOf } from "./letter.ts";
import type { Letter, LintRule } from "./rule.ts";

export const transcript: LintRule = {
  level: "error",
  meaning: "A raw conversation was pasted in",

  check: ({ letter }) =>
    [...textPlaces(letter), ...messageLists(letter.payload?.data, "payload.data")].map((path) => ({
      path,
      message: `${path}: is a conversation as it went`,
      hint: "Say what came of it. If it is needed word for word, remember it and refer to it with a summary.",
    })),
};

const textPlaces = (letter: Letter): string[] =>
  textsOf(letter)
    .filter(({ text }) => isTranscript(text))
    .map(({ path }) => path);

/** Lists of messages that were not even made a text of. */
function messageLists(value: unknown, path: string): string[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) {
    if (isTranscript(JSON.stringify(value))) return [path];
    return value.flatMap((item, i) => messageLists(item, `${path}[${i}]`));
  }
  return Object.entries(value).flatMap(([key, item]) => messageLists(item, `${path}.${key}`));
}

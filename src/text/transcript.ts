/**
 * Detects raw conversation logs: chat lines with speakers, or the JSON messages of a model. A receiver needs
 * the result of a conversation, not the conversation; such a text belongs in a reference with a summary.
 */

/** The speaker at the beginning of a line, in the forms that chat logs use. */
const TURN =
  /^\s*(?:[[(]?\d[\d:.,/ TZ-]{3,24}[\])]?\s{0,4})?(?:[*_#>[<"-]{1,8}\s{0,4})?(user|human|assistant|ai|system|tool|function|model|developer|bot|claude|chatgpt|agent)(?:\s*\([^)\n]{0,40}\))?[\s*_\]"]*[:>]/iu;
/** Characters that may follow the name of a speaker: a remark in brackets, marks, a colon. */
const MAX_TURN_PREFIX = 64;
/**
 * A text is a conversation if both sides speak and one of them speaks again, or a tool speaks in between.
 * Settings files have a "user:" too.
 */
const PEOPLE: ReadonlySet<string> = new Set(["user", "human"]);
const MACHINES: ReadonlySet<string> = new Set(
  "assistant ai model bot claude chatgpt agent".split(" "),
);
const TOOLS: ReadonlySet<string> = new Set(["tool", "function"]);
/** One exchange, and the beginning of the next. */
const MIN_TURNS = 3;
/** Minimum share of turns among non-empty lines: a text that only quotes a few turns is not a log. */
const MIN_TURN_SHARE = 0.15;
/** Lines to check; enough to classify a text. */
const MAX_LINES_CHECKED = 2_000;

/** Returns true if a text is a raw conversation log. */
export function isTranscript(text: string): boolean {
  return isMessageJson(text) || isChatLog(text);
}

function isChatLog(text: string): boolean {
  if (!text.includes("\n") || !hasPersonTurn(text)) return false;
  const lines = text.split("\n", MAX_LINES_CHECKED).filter((line) => line.trim() !== "");
  const turns = lines.flatMap((line) => TURN.exec(line)?.[1]?.toLowerCase() ?? []);
  if (turns.length < MIN_TURNS || turns.length / lines.length < MIN_TURN_SHARE) return false;
  const speakers = [...new Set(turns)];
  const goesOn = speakers.length < turns.length || speakers.some((who) => TOOLS.has(who));
  return (
    goesOn && speakers.some((who) => PEOPLE.has(who)) && speakers.some((who) => MACHINES.has(who))
  );
}

const PERSON = /user|human/gi;
/** Maximum distance of a speaker's name from the beginning of its line. */
const MAX_NAME_OFFSET = 80;

/**
 * Returns true if a person begins a turn somewhere. Every handoff is checked when it is sent, and this test
 * alone rules out most texts: it takes 1 µs for 4 KB, checking line by line takes 20.
 */
function hasPersonTurn(text: string): boolean {
  PERSON.lastIndex = 0;
  for (let found = PERSON.exec(text); found !== null; found = PERSON.exec(text)) {
    const before = text.slice(Math.max(0, found.index - MAX_NAME_OFFSET), found.index);
    const start = found.index - before.length + before.lastIndexOf("\n") + 1;
    if (TURN.test(text.slice(start, found.index + MAX_TURN_PREFIX))) return true;
  }
  return false;
}

/** Matches a JSON array of messages, an object that contains one, or one message per line. */
function isMessageJson(text: string): boolean {
  const start = text.trimStart();
  if (!start.startsWith("[") && !start.startsWith("{")) return false;
  if (!MESSAGE_FIELDS.some((fields) => fields.every((field) => text.includes(field)))) return false;
  const whole = tryParseJson(text);
  const found =
    whole === undefined ? text.trim().split("\n", MAX_LINES_CHECKED).map(tryParseJson) : whole;
  return isMessageList(Array.isArray(found) ? found : findArrayIn(found));
}

/** The fields of a message as they appear in JSON; a text without them is not parsed. */
const MESSAGE_FIELDS = [
  ['"role"', '"content"'],
  ['"type"', '"message"'],
] as const;

/**
 * Returns true if at least half of the items are messages in the form that models receive, and there are
 * three or more.
 */
export function isMessageList(items: readonly unknown[]): boolean {
  const turns = items.filter(isMessage).length;
  return turns >= MIN_TURNS && turns / items.length >= 0.5;
}

function findArrayIn(value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).find(Array.isArray) ?? [];
}

function isMessage(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return ("role" in value && "content" in value) || ("type" in value && "message" in value);
}

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Not JSON, so not a list of messages.
  }
}

/**
 * Raw conversation logs: who said what, line by line, or as the messages a model was given. Whoever
 * takes over needs what came of it, not the talk: such a text goes as a reference and a summary.
 */

/** Who speaks, at the beginning of a line, as chat logs write it. */
const TURN =
  /^\s*(?:[[(]?\d[\d:.,/ TZ-]{3,24}[\])]?\s*)?(?:[*_#>[<"-]+\s*)?(user|human|assistant|ai|system|tool|function|model|developer|bot|claude|chatgpt|agent)(?:\s*\([^)\n]{0,40}\))?\s*(?:[*_\]>"]+)?\s*[:>]/iu;
/** Beyond the name: who it is in brackets, marks, a colon. */
const MAX_TURN_PREFIX = 64;
/** There is talk where both sides speak, one of them again or a tool between them; settings have a user too. */
const PEOPLE: ReadonlySet<string> = new Set(["user", "human"]);
const MACHINES: ReadonlySet<string> = new Set(
  "assistant ai model bot claude chatgpt agent".split(" "),
);
const TOOLS: ReadonlySet<string> = new Set(["tool", "function"]);
/** One exchange, and the beginning of the next. */
const MIN_TURNS = 3;
/** Of the lines that say something: a text that quotes a few turns is no log. */
const MIN_TURN_SHARE = 0.15;
/** As many as tell what a text is. */
const MAX_LINES_CHECKED = 2_000;

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
/** How far from the beginning of its line the name of a speaker stands at most. */
const MAX_NAME_OFFSET = 80;

/**
 * Whether a person begins a turn somewhere. Every handoff is checked when it is sent, and most texts are
 * distinguished from a conversation by this alone: 4 KB take 1 µs, and 20 line by line.
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

/** A JSON array of messages, an object that holds one, or one message a line. */
function isMessageJson(text: string): boolean {
  const start = text.trimStart();
  if (!start.startsWith("[") && !start.startsWith("{")) return false;
  if (!MESSAGE_FIELDS.some((fields) => fields.every((field) => text.includes(field)))) return false;
  const whole = tryParseJson(text);
  const found =
    whole === undefined ? text.trim().split("\n", MAX_LINES_CHECKED).map(tryParseJson) : whole;
  return isMessageList(Array.isArray(found) ? found : findArrayIn(found));
}

/** The fields of a message, as JSON writes them: what has none of them need not be parsed. */
const MESSAGE_FIELDS = [
  ['"role"', '"content"'],
  ['"type"', '"message"'],
] as const;

/** A list of messages as a model is given them. */
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
    return undefined; // No JSON: then it is no array of messages.
  }
}

/**
 * Raw conversation logs: who said what, line by line, or as the messages a model was given. Whoever
 * takes over needs what came of it, not the talk: such a text goes as a reference and a summary.
 */

/** Who speaks, at the beginning of a line, as chat logs write it. */
const TURN =
  /^\s*(?:[[(]?\d[\d:.,/ TZ-]{3,24}[\])]?\s*)?(?:[*_#>[<"-]+\s*)?(user|human|assistant|ai|system|tool|function|model|developer|bot|claude|chatgpt|agent)(?:\s*\([^)\n]{0,40}\))?\s*(?:[*_\]>"]+)?\s*[:>]/iu;
/** There is talk where both sides speak, one of them again or a tool between them; settings have a user too. */
const PEOPLE: ReadonlySet<string> = new Set(["user", "human"]);
const MACHINES: ReadonlySet<string> = new Set(
  "assistant ai model bot claude chatgpt agent".split(" "),
);
const TOOLS: ReadonlySet<string> = new Set(["tool", "function"]);
/** One exchange, and the beginning of the next. */
const FEWEST_TURNS = 3;
/** Of the lines that say something: a text that quotes a few turns is no log. */
const SHARE = 0.15;
/** As many as tell what a text is. */
const LINES_LOOKED_AT = 2_000;

export function isTranscript(text: string): boolean {
  return isMessages(text) || isTalk(text);
}

function isTalk(text: string): boolean {
  if (!text.includes("\n")) return false;
  const lines = text.split("\n", LINES_LOOKED_AT).filter((line) => line.trim() !== "");
  const turns = lines.flatMap((line) => TURN.exec(line)?.[1]?.toLowerCase() ?? []);
  if (turns.length < FEWEST_TURNS || turns.length / lines.length < SHARE) return false;
  const speakers = [...new Set(turns)];
  const goesOn = speakers.length < turns.length || speakers.some((who) => TOOLS.has(who));
  return (
    goesOn && speakers.some((who) => PEOPLE.has(who)) && speakers.some((who) => MACHINES.has(who))
  );
}

/** A JSON array of messages, an object that holds one, or one message a line. */
function isMessages(text: string): boolean {
  const start = text.trimStart();
  if (!start.startsWith("[") && !start.startsWith("{")) return false;
  const whole = parsed(text);
  const found = whole === undefined ? text.trim().split("\n", LINES_LOOKED_AT).map(parsed) : whole;
  const messages = Array.isArray(found) ? found : heldBy(found);
  const turns = messages.filter(isMessage).length;
  return turns >= FEWEST_TURNS && turns / messages.length >= 0.5;
}

function heldBy(value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).find(Array.isArray) ?? [];
}

function isMessage(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return ("role" in value && "content" in value) || ("type" in value && "message" in value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // No JSON: then it is no array of messages.
  }
}

/** Renders earlier attempts: how each ended, what was tried, what might help, and what was decided. */
import { Slug } from "../../envelope/schema.ts";
import type { EarlierAttempt } from "../../history/earlier-attempts.ts";
import { UNTYPED } from "../../history/failure.ts";
import { fenceAddress, fenceLine, quoteText } from "../../text/fence.ts";
import { formatInstant } from "./item-text.ts";

const OUTCOMES: Readonly<Record<EarlierAttempt["outcome"], string>> = {
  asked: "asked a question",
  cancelled: "was cancelled",
  declined: "declined",
  expired: "stopped responding",
  failed: "failed",
  released: "released it",
  stopped: "was stopped",
  accept_timeout: "was not accepted in time",
};

/** How names that can be sentences are shown: fenced, or plain in a text that is fenced as a whole. */
interface Quotes {
  readonly address: (address: string) => string;
  readonly line: (text: string) => string;
}

/** A type that is a single word (`timeout`) is plain; holders can write any text there. */
const FENCED: Quotes = {
  address: fenceAddress,
  line: (text) => (Slug.safeParse(text).success ? text : fenceLine(text)),
};
const PLAIN: Quotes = { address: String, line: String };

type LabeledText = readonly [label: string, text: string];

/** Returns the texts of an attempt with their labels, most useful first. */
function labeledTextsOf(
  { message, attempted, hints, notes, question, answer, decision }: EarlierAttempt,
  { address }: Quotes,
): LabeledText[] {
  return [
    ...(message === undefined ? [] : [["reason", message] as const]),
    ...(question === undefined ? [] : [["question", question] as const]),
    ...(answer === undefined ? [] : [[`answer of ${answer.by}`, answer.text] as const]),
    ...(attempted === undefined ? [] : [["tried", attempted] as const]),
    ...hints.map((hint) => ["advice", hint] as const),
    ...(decision === undefined
      ? []
      : [[decidedLabel(decision, address), decision.reason] as const]),
    ...notes.map(({ id, text }) => [`note ${id}`, text] as const),
  ];
}

const decidedLabel = (
  { by, decision, to }: NonNullable<EarlierAttempt["decision"]>,
  address: Quotes["address"],
): string =>
  `${by} decided to ${decision}${to === undefined ? "" : ` with ${address(to)}`} because`;

function headOf({ attempt, at, by, outcome, type }: EarlierAttempt, { line }: Quotes): string {
  const isKnown = type === undefined || type === outcome || type === UNTYPED;
  const kind = isKnown ? "" : ` (${line(type)})`;
  const who = by === undefined ? "" : ` by ${by}`;
  return `attempt ${attempt}${who} ${OUTCOMES[outcome]}${kind}, ${formatInstant(at)}`;
}

/** Returns an attempt as a block of a view. */
export function attemptBlock(attempt: EarlierAttempt): string {
  const lines = labeledTextsOf(attempt, FENCED).map(
    ([label, text]) => `  ${label}: ${quoteText(text)}`,
  );
  return `${[`- ${headOf(attempt, FENCED)}`, ...lines].join("\n")}\n`;
}

/** Returns an attempt on one line, with only its last note. Not fenced: the caller fences the whole. */
export function attemptLine(attempt: EarlierAttempt): string {
  const said = labeledTextsOf({ ...attempt, notes: [] }, PLAIN).map(
    ([label, text]) => `${label}: ${text}`,
  );
  const noted = attempt.notes.at(-1);
  const last = noted === undefined ? [] : [`last note: ${noted.text}`];
  return [headOf(attempt, PLAIN), ...said, ...last].join("; ");
}

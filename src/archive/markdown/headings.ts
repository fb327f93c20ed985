/** Which types of memories a document for people has, and under which heading. */

/** In the order in which they stand. What agents do step by step is not in it. */
export const HEADINGS: Readonly<Record<string, string>> = {
  decision: "Decisions",
  constraint: "Constraints",
  convention: "Conventions",
  fact: "Facts",
  finding: "Findings",
  lesson: "Lessons",
  mistake: "Mistakes",
  plan: "Plans",
  question: "Questions",
  summary: "Summaries",
  artifact: "Artifacts",
};

/** Words that people use for the same. */
const HEADING_SYNONYMS: Readonly<Record<string, string>> = {
  rules: "constraint",
  rule: "constraint",
  requirements: "constraint",
  "code style": "convention",
  style: "convention",
  guidelines: "convention",
  learnings: "lesson",
  "lessons learned": "lesson",
  notes: "fact",
  "open questions": "question",
};

const TYPE_HEADING = /^type: ([a-z][a-z0-9_-]*)$/;

export const headingOf = (type: string): string => HEADINGS[type] ?? `Type: ${type}`;

/** The type a heading stands for; undefined when it is a heading of somebody's own. */
export function typeOf(heading: string): string | undefined {
  const word = heading.trim().toLowerCase();
  const known = Object.entries(HEADINGS).find(
    ([type, text]) => text.toLowerCase() === word || type === word,
  );
  return (
    known?.[0] ??
    (Object.hasOwn(HEADING_SYNONYMS, word) ? HEADING_SYNONYMS[word] : undefined) ??
    TYPE_HEADING.exec(word)?.[1]
  );
}

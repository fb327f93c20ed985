/** Maps types of memories to headings of a Markdown document, and back. */

/** The heading of each type, in document order. Types for single steps of agents are left out. */
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

/** Other headings that people use, and the type they stand for. */
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

/** Returns the heading of a type. */
export const headingOf = (type: string): string => HEADINGS[type] ?? `Type: ${type}`;

/** Returns the type that a heading stands for; undefined for any other heading. */
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

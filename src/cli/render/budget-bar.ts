/** Prints the tokens of a view by section as a bar: coloured on a terminal, with symbols elsewhere. */
import type { View } from "../../context/view/view.ts";
import { dim, printLine, styled } from "../terminal.ts";

type Part = View["sections"][number]["section"];

/** The colour of each section, and its symbol where colours are not available. */
const MARKS: Readonly<Record<Part, readonly [Parameters<typeof styled>[0], string]>> = {
  task: ["cyan", "#"],
  constraints: ["red", "!"],
  decisions: ["magenta", "?"],
  pins: ["yellow", "^"],
  earlier: ["cyanBright", "<"],
  references: ["green", "="],
  neighbours: ["blue", "~"],
  recent: ["white", "-"],
  recalled: ["gray", ":"],
};

const WIDTH = 60;
/** Columns reserved next to the bar. */
const BAR_MARGIN = 4;

/** Prints the bar, the total with the origin of the budget, and a line per section. */
export function printBudget({ sections, tokens, budget, strategy }: View): void {
  const used = sections.filter((section) => section.tokens > 0);
  const width = Math.max(20, Math.min(WIDTH, (process.stdout.columns || WIDTH) - BAR_MARGIN));
  const cells = cellsOf(
    used.map((section) => section.tokens),
    width,
    budget.tokens,
  );
  const bar = used.map(({ section }, i) => mark(section, cells[i] ?? 0)).join("");
  const left = width - cells.reduce((sum, each) => sum + each, 0);
  printLine(`[${bar}${dim(isColoured() ? "░".repeat(left) : ".".repeat(left))}]`);
  const share = Math.round((tokens / budget.tokens) * 100);
  const how = budget.exact ? budget.tokenizer : `${budget.tokenizer}, estimated`;
  printLine(
    `${tokens.toLocaleString("en")} of ${budget.tokens.toLocaleString("en")} tokens, ${share} %` +
      dim(` (${BUDGET_SOURCES[budget.from]}; ${how}; strategy ${strategy})`),
  );
  for (const { section, tokens: taken, shown, omitted } of sections) {
    if (taken === 0 && omitted === 0) continue;
    const counts = [
      ...(shown > 0 ? [`${shown} shown`] : []),
      ...(omitted > 0 ? [`${omitted} left out`] : []),
    ];
    const about = counts.length === 0 ? "" : `  ${counts.join(", ")}`;
    printLine(
      `  ${mark(section, 1)} ${section.padEnd(12)}${String(taken).padStart(7)}${dim(about)}`,
    );
  }
}

const BUDGET_SOURCES: Readonly<Record<View["budget"]["from"], string>> = {
  call: "requested",
  envelope: "set by the sender",
  profile: "from the role's profile",
  window: "from the receiver's context window, minus its reserve",
  default: "default: no context window is registered",
};

const isColoured = (): boolean => dim("x") !== "x";

function mark(section: Part, count: number): string {
  const [style, sign] = MARKS[section];
  return isColoured() ? styled(style, "█".repeat(count)) : sign.repeat(count);
}

/** Distributes the columns: whole numbers that add up, at least one for every section with tokens. */
function cellsOf(takes: readonly number[], width: number, of: number): number[] {
  const cells = takes.map((tokens) => Math.max(1, Math.round((tokens / of) * width)));
  let over = cells.reduce((sum, each) => sum + each, 0) - width;
  while (over > 0) {
    const widest = cells.indexOf(Math.max(...cells));
    cells[widest] = (cells[widest] ?? 1) - 1;
    over--;
  }
  return cells;
}

/** Compares what a power cut left with what was acknowledged before it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isBatonError, openHub } from "../../../src/index.ts";
import { connect } from "../../../src/store/sqlite/connection.ts";
import { inspect } from "../../../src/store/sqlite/inspect.ts";
import { prepareStatements } from "../../../src/store/sqlite/statements.ts";
import { ERASED, type Note, STORE } from "./scenarios.ts";

const COMPLETED = 5;
/** After so many refusals the child gives up: then the write must not be there. */
const REFUSALS = 3;

interface StoreContents {
  readonly problems: readonly string[];
  /** How many memories begin with `item-<n>`, by n. */
  readonly items: ReadonlyMap<number, number>;
  readonly envelopes: ReadonlySet<string>;
  readonly completed: ReadonlySet<string>;
  /** Memories whose body is stored although it was to be erased. */
  readonly unerased: ReadonlySet<string>;
}

/** Opens the store in `folder`, writes to it, and returns each promise that it breaks. */
export async function brokenPromises(folder: string, notes: readonly Note[]): Promise<string[]> {
  const file = join(folder, STORE);
  if (!existsSync(file)) {
    return notes.some(isAcknowledgement) ? ["the store is gone"] : [];
  }
  try {
    {
      await using hub = await openHub(`sqlite:${file}`);
      const agent = await hub.agent("after", { role: "after" });
      await agent.remember({ content: "written after the power cut" });
    }
    const contents = await readContents(file);
    return [
      ...contents.problems,
      ...notes.flatMap((note) => missing(note, contents)),
      ...itemsOff(notes, contents),
      ...erasedTextIn(dirname(file), notes),
    ];
  } catch (error) {
    return [`${isBatonError(error) ? error.code : "error"}: ${(error as Error).message}`];
  }
}

const isAcknowledgement = (note: Note): boolean =>
  "envelope" in note ||
  "completed" in note ||
  "redacted" in note ||
  ("item" in note && note.outcome === "stored");

function missing(note: Note, { envelopes, completed, unerased }: StoreContents): string[] {
  if ("envelope" in note && !envelopes.has(note.envelope)) return [`${note.envelope} is lost`];
  if ("completed" in note && !completed.has(note.completed))
    return [`${note.completed} is not completed`];
  if ("redacted" in note && unerased.has(note.redacted)) return [`${note.redacted} is back`];
  return [];
}

function itemsOff(notes: readonly Note[], { items }: StoreContents): string[] {
  const outcomes = new Map<number, string[]>();
  for (const note of notes) {
    if ("item" in note) outcomes.set(note.item, [...(outcomes.get(note.item) ?? []), note.outcome]);
  }
  const broken: string[] = [];
  for (const [item, said] of outcomes) {
    const count = items.get(item) ?? 0;
    if (said.includes("stored") && count === 0) broken.push(`item ${item} is lost`);
    if (count > 1) broken.push(`item ${item} is there ${count} times`);
    if (said.filter((each) => each === "refused").length === REFUSALS && count > 0)
      broken.push(`item ${item} was refused and is there`);
  }
  return broken;
}

/** Returns the files that contain a body that was reported as erased from them. */
function erasedTextIn(folder: string, notes: readonly Note[]): string[] {
  if (!notes.some((note) => "redacted" in note && note.fromFiles)) return [];
  const holding = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && readFileSync(join(folder, entry.name)).includes(ERASED),
  );
  return holding.map(({ name }) => `${name} contains an erased text`);
}

async function readContents(file: string): Promise<StoreContents> {
  const db = connect(file);
  try {
    const { problems } = await inspect({ db, sql: prepareStatements(db), onProgress: () => {} });
    const items = new Map<number, number>();
    const texts = db.prepare(`select substr(text, instr(text, '"content":"item-') + 16, 12) as n
      from memories where text like '%"content":"item-%'`);
    for (const row of texts.all()) {
      const item = Number.parseInt(String(row["n"]), 10);
      items.set(item, (items.get(item) ?? 0) + 1);
    }
    const ids = (sql: string) =>
      new Set(
        db
          .prepare(sql)
          .all()
          .map((row) => String(row["id"])),
      );
    return {
      problems: problems.map(({ record, field, message }) => `${record} ${field}: ${message}`),
      items,
      envelopes: ids("select id from envelopes"),
      completed: ids(`select id from deliveries where state = ${COMPLETED}`),
      unerased: ids(`select id from memories where instr(text, '${ERASED}') > 0`),
    };
  } finally {
    db.close();
  }
}

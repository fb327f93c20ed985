/** Commands on a store that no hub had open: what is overdue is carried out before it is shown, and reported. */
import { describe, expect, it } from "vitest";
import { openHub } from "../../src/index.ts";
import { testStore } from "./baton.ts";

/** The clock of a process that ran an hour ago. */
const HOUR_AGO = { now: () => Date.now() - 3_600_000 };

/** Each command that shows deliveries or tasks. */
const COMMANDS: readonly (readonly [string, (id: string) => readonly string[]])[] = [
  ["inbox", () => ["inbox", "ben"]],
  ["handoff show", (id) => ["handoff", "show", id]],
  ["dead list", () => ["dead", "list"]],
  ["dead show", (id) => ["dead", "show", id]],
  ["failure list", () => ["failure", "list"]],
  ["questions", () => ["questions", "--as", "ada"]],
  ["line", () => ["line", "auth"]],
  ["timeline", () => ["timeline", "auth"]],
  ["task list", () => ["task", "list"]],
  ["task show", () => ["task", "show", "auth"]],
  ["task tree", () => ["task", "tree", "auth"]],
];

describe("overdue timeouts", () => {
  it.each(COMMANDS)("are carried out and reported by baton %s [DLV-19]", async (_name, words) => {
    using store = testStore();
    let id: string;
    {
      await using hub = await openHub(store.address, { clock: HOUR_AGO });
      const ada = await hub.agent("ada", { role: "planner" });
      await hub.agent("ben", { role: "coder" });
      const policy = { deadlineMs: 60_000 };
      const sent = await ada.handoff({ to: "ben", task: "auth", intent: "Refactor auth", policy });
      ({ id } = sent);
    }
    const first = await store.baton(...words(id), "--json");
    expect([first.code, first.stderr]).toEqual([0, "Carried out 1 overdue timeout or retry.\n"]);
    JSON.parse(first.stdout);
    const second = await store.baton(...words(id));
    expect([second.code, second.stderr]).toEqual([0, ""]);
    await using hub = await store.open();
    expect((await hub.deliveries.get(id)).delivery.state).toBe("expired");
  });
});

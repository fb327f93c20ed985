/** Continuity: a process that has only the store file continues where another one stopped. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../support/hub/support.ts";
import { runScript } from "../support/run-script.ts";

describe("a new process", () => {
  async function inProcess(file: string, time: string, part: string) {
    const script = "test/hub/continuity-child.ts";
    const { code, stdout, stderr } = await runScript(script, [file, time, part]);
    expect({ code, stderr: stderr.replace(/.*ExperimentalWarning.*\n.*\n?/g, "") }).toEqual({
      code: 0,
      stderr: "",
    });
    return JSON.parse(stdout);
  }

  it("continues unfinished work of another process days later in one call [MEM-13]", async () => {
    const file = join(tempFolder(), "hub.db");
    // Calls process.exit() while it holds the work: nothing is settled or closed.
    const written = await inProcess(file, "2026-03-01T09:00:00Z", "write");

    const resumed = await inProcess(file, "2026-03-06T08:00:00Z", "resume");
    // The same handoff, with the notes that its holder had written.
    const { id, history, metadata, parents, reconstructed, refs, ...said } = resumed.envelope;
    expect(written.envelope).toMatchObject(said);
    expect(parents).toEqual([written.envelope.id]);
    expect(history).toMatchObject([{ did: written.note.content, ref: written.note.id }]);
    expect(refs.map((ref: { id: string }) => ref.id)).toEqual([written.plan.id, written.note.id]);
    expect(reconstructed).toMatchObject({ attempt: 1, holder: "coder", notes: 1 });
    expect(resumed.attempt).toBe(2);
    expect(resumed.plan).toEqual(written.plan);
    const { text, omitted } = resumed.caught;
    for (const known of [
      "Refactor auth without breaking mobile logins",
      "Extract validateToken()",
      "No new dependencies.",
      "Validator first.",
      "Mobile sends the token twice.",
      written.delivery,
      written.note.id,
    ]) {
      expect(text).toContain(known);
    }
    expect(omitted).toEqual([]);

    // Another agent sees all of it in one call, and the store has no problems.
    const joined = await inProcess(file, "2026-03-09T08:00:00Z", "join");
    for (const known of [
      "Validator first.",
      "token twice.",
      "Extracted.",
      "No new dependencies.",
    ]) {
      expect(joined.caught.text).toContain(known);
    }
    expect(joined.report).toMatchObject({ envelopes: 2, deliveries: 1, problems: [] });
  });
});

/** Child process that runs one session: `<file> <time> <part>`; prints its results as JSON. */
import { openHub } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";

const [file = "", time = "", part = ""] = process.argv.slice(2);
const clock = new VirtualClock(Date.parse(time));
const hub = await openHub(`sqlite:${file}`, { clock });

/** Plans, hands over, and does half of the work before the process exits. */
async function write(): Promise<object> {
  const planner = await hub.agent("planner", { role: "planner" });
  const coder = await hub.agent("coder", { role: "coder" });
  const rule = await planner.remember({ type: "convention", content: "No new dependencies." });
  await planner.memories.pin(rule.id);
  const plan = await planner.remember({ type: "plan", task: "auth", content: "Validator first." });
  const sent = await planner.handoff({
    to: "coder",
    task: "auth",
    intent: "Refactor auth without breaking mobile logins",
    next: ["Extract validateToken()"],
    doNotRedo: ["The token format stays"],
    constraints: ["Do not touch fixtures"],
    refs: [plan.id],
    payload: { type: "ticket", data: { number: 7 } },
  });
  const work = await coder.accept();
  const note = await work?.note({ type: "finding", content: "Mobile sends the token twice." });
  return { envelope: sent.envelope, delivery: sent.id, plan, note: note?.memory };
}

/** Resumes with nothing but the file, with one call of each kind. */
async function resume(): Promise<object> {
  const coder = await hub.agent("coder");
  const caught = await coder.catchUp();
  const work = await coder.accept();
  const plan = await work?.read(work.envelope.refs[0]?.id ?? "");
  const answer = { caught, envelope: work?.envelope, attempt: work?.delivery.attempt, plan };
  await work?.complete({ summary: "Extracted." });
  return answer;
}

/** Catches up as an agent that was not involved. */
async function join(): Promise<object> {
  const reviewer = await hub.agent("reviewer", { role: "reviewer" });
  return { caught: await reviewer.catchUp({ task: "auth" }), report: await hub.verify() };
}

const parts: Record<string, () => Promise<object>> = { write, resume, join };
process.stdout.write(JSON.stringify(await parts[part]?.()), () => process.exit());

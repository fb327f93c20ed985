/**
 * Every text that a model reads, made of hostile text in every field that a caller can write: nothing of it
 * stands outside a fence, no fence is closed from inside, and no character is hidden.
 */
import { expect, it } from "vitest";
import { answerHook } from "../../src/harness/hook.ts";
import { parseHookInput } from "../../src/harness/hook-input.ts";
import type { Hub, Work } from "../../src/index.ts";
import { numbersOf, readFences } from "../support/fences.ts";
import { hostileText, INVISIBLE, MARKER } from "../support/hostile-text.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { call, refused } from "./support.ts";
import { team } from "./tool-team.ts";

/** Names can be sentences, but contain no marks. */
const NAME = `a. ${MARKER} now`;

/** Returns the last characters of a text, which ends with the marker. */
const endOf = (text: string, most: number): string => text.slice(-most).toWellFormed();

type Texts = Record<string, string>;

it.each(Array.from({ length: runs(3) }, (_, i) => i))(
  "every text for a model keeps hostile text in its fences, run %i [OPS-6 CTX-7]",
  { timeout: 120_000 },
  async (run) => {
    const random = randomFrom(chosenSeed() + run);
    const shown = await textsWith(() => hostileText(random));
    for (const [producer, text] of Object.entries(shown)) {
      const { outside, inside } = readFences(text);
      expect(outside, producer).not.toContain(MARKER);
      expect(numbersOf(text).size, `${producer}: numbers of its fences`).toBeLessThanOrEqual(1);
      expect(text, producer).not.toMatch(INVISIBLE);
      for (const each of inside) expect(each, producer).not.toMatch(/»\d{3}/);
    }
    const silent = Object.keys(shown).filter((producer) => !shown[producer]?.includes(MARKER));
    expect(silent, "producers that show nothing hostile").toEqual([]);
  },
);

/** Returns what each producer shows, by its name. */
async function textsWith(evil: () => string): Promise<Texts> {
  const { hub, ada, ben } = await team();
  const texts: Texts = {};
  const tool = async (name: string, client: typeof ada, of: string, args: object = {}) => {
    const answer = await call(client, of, args);
    texts[name] = answer.text;
    const { text: _, ...fields } = answer;
    expect(JSON.stringify(fields), name).not.toMatch(/»\d{3}/);
    return answer;
  };
  const boss = await hub.agent("ada", { role: "coordinator", description: evil() });
  const coder = await hub.agent("ben", { role: NAME, model: evil(), description: evil() });
  await hub.channels.set(NAME);
  await coder.channels.subscribe(NAME);
  await setUp(hub, evil);

  const [memory] = await boss.remember([
    {
      content: `rivers ${evil()}`,
      task: NAME,
      tags: [endOf(evil(), 100)],
      data: { [evil()]: evil() },
    },
  ]);
  await boss.memories.pin((await boss.remember({ content: evil() })).id);
  await boss.handoff(draft(evil, { task: `${NAME} 1`, refs: [memory?.id ?? ""] }));
  const first = (await coder.accept({ task: `${NAME} 1` })) as Work;
  await first.note(evil());
  await first.handoff({ to: "ben", ...lists(evil) });
  texts["work.primer"] = first.primer;

  const sent = await boss.handoff(draft(evil, { task: NAME, refs: [memory?.id ?? ""] }));
  const [{ id: delivery } = { id: "" }] = sent.each;
  texts["preview"] = (
    await boss.handoffs.preview(draft(evil, { task: NAME }), { tokens: 60_000 })
  ).view.text;
  const failing = (await coder.accept({ task: NAME })) as Work;
  await failing.note(evil());
  await failing.fail({
    message: evil(),
    type: endOf(evil(), 100),
    attempted: evil(),
    hints: [evil()],
  });
  texts["waiting: deliveries.primer"] = await hub.deliveries.primer(delivery);
  await tool("wait, for work", ben, "wait", { seconds: 30, max_tokens: 50_000 });
  const patient = { task: NAME, wait_seconds: 30 };
  const brief = await tool("accept, concise", ben, "accept", { ...patient, detail: "concise" });
  const work = await coder.resume(`${brief["handle"]}`);
  texts["work.primer, second attempt"] = work.primer;
  const view = await work.view({ tokens: 60_000 });
  texts["work.view"] = view.text;
  texts["deliveries.views"] = (await hub.deliveries.views(delivery))[0]?.text ?? "";
  expect(texts["deliveries.views"]).toBe(view.text);
  for (const strategy of ["summary", "lazy", "full"] as const) {
    texts[`work.view, ${strategy}`] = (await work.view({ tokens: 60_000, strategy })).text;
  }
  texts["catchUp"] = (await coder.catchUp({ tokens: 60_000 })).text;
  texts["context.text"] = (await coder.context.text({ tokens: 20_000 })).text;

  for (const detail of ["concise", "detailed"]) {
    const much = { detail, max_tokens: 60_000 };
    await tool(`catch_up, ${detail}`, ben, "catch_up", much);
    await tool(`recall, ${detail}`, ben, "recall", { question: "rivers", ...much });
    await tool(`read a memory, ${detail}`, ben, "read", { ids: [memory?.id], ...much });
    await tool(`read a handoff, ${detail}`, ben, "read", { ids: [delivery], ...much });
  }
  await tool("agents", ada, "agents", { max_tokens: 20_000 });
  await tool("handoff_rules", ada, "handoff_rules");
  await tool("read an id that is none", ben, "read", {
    ids: [memory?.id, evil()],
    max_tokens: 60_000,
  });
  await tool("remember what is known", ben, "remember", { content: memory?.content });
  await tool("hand_off", ada, "hand_off", { to: `role:${NAME}`, intent: "x", next: [evil()] });
  const handle = work.handle;
  await tool("update, reserve", ben, "update", {
    handle,
    action: "reserve",
    globs: [`src/${NAME}/*`],
  });
  const unmet = await refused(ben, "update", { handle, action: "complete", text: evil() });
  Object.assign(texts, { "refusal of update": unmet.text, "its message": unmet.message });
  await call(ben, "update", { handle, action: "clarify", text: evil() });
  await tool("wait, for a question", ada, "wait", {
    handoff: delivery,
    seconds: 0,
    max_tokens: 60_000,
  });
  await tool("wait, for any question", ada, "wait", { seconds: 0, max_tokens: 60_000 });
  await tool("catch_up with a question", ada, "catch_up", { max_tokens: 60_000 });
  await call(ada, "answer", { handoff: delivery, text: evil() });
  await tool("accept, detailed", ben, "accept", { ...patient, max_tokens: 60_000 });

  for (const uri of [
    "inbox",
    "agents",
    "context",
    "handoff-rules",
    `handoff/${delivery}`,
    `memory/${memory?.id}`,
  ]) {
    const { contents } = await ben.readResource({ uri: `baton://${uri}` });
    texts[`resource ${uri.split("/")[0]}`] = contents
      .map((each) => ("text" in each ? each.text : ""))
      .join("");
  }
  const { resources } = await ben.listResources();
  texts["list of resources"] =
    resources.map(({ title = "" }) => title).find((title) => title.includes(MARKER)) ?? "";
  texts["instructions"] = ben.getInstructions()?.includes(MARKER)
    ? `${ben.getInstructions()}`
    : MARKED;
  const prompt = await ben.getPrompt({ name: "take_over_task", arguments: { task: NAME } });
  texts["prompt"] = prompt.messages
    .map(({ content }) => ("text" in content ? content.text : ""))
    .join("");
  for (const event of ["SessionStart", "UserPromptSubmit"])
    texts[`hook ${event}`] = await hookText(hub, event);

  await boss.memories.quarantine([memory?.id ?? ""], evil());
  texts["catchUp with a warning"] = (await coder.catchUp({ tokens: 60_000 })).text;
  const onto = await refused(ada, "hand_off", { to: "ben", intent: "x", refs: [memory?.id] });
  texts["refusal of a quarantined memory"] = onto.text;
  return texts;
}

/** A session's instructions are as old as the session; they name the role of then. */
const MARKED = `«${MARKER}»472`;

/** Writes what every agent of the workspace reads. */
async function setUp(hub: Hub, evil: () => string): Promise<void> {
  const lead = await hub.agent("lead", { role: "coordinator" });
  await hub.payloadTypes.set(NAME, { type: "object", description: evil() });
  const line = endOf(evil(), 500);
  await lead.context.set({ section: "constraints", key: "c", rule: line, why: line, source: line });
  await lead.context.set({ section: "conventions", key: "n", rule: line, why: line });
  await lead.context.set({ section: "project", key: "p", content: evil() });
  await lead.context.set({
    ...{
      section: "decisions",
      key: "d",
      question: line,
      choice: line,
      reasons: [line],
      task: NAME,
    },
    rejected: [{ option: line, why: line }],
  });
}

const lists = (evil: () => string) => ({
  done: [evil()],
  next: [evil(), evil()],
  doNotRedo: [evil()],
  blocked: [{ what: evil(), on: evil() }],
  constraints: [
    { rule: evil(), source: evil() },
    { rule: evil(), level: "should" as const },
  ],
  decisions: [{ question: evil(), options: [evil(), evil()] }],
  history: [{ agent: "ada", did: evil(), decided: evil(), why: evil() }],
  artifacts: [{ kind: "file", path: evil(), note: evil() }],
});

const draft = (evil: () => string, { task, refs = [] }: { task: string; refs?: string[] }) => ({
  to: `role:${NAME}`,
  task,
  run: NAME,
  intent: evil(),
  state: evil(),
  ...lists(evil),
  refs: refs.map((id) => ({ id, summary: evil() })),
  expects: [{ name: NAME, type: "text", criteria: [evil()], format: evil() }],
  payload: { type: NAME, data: { [evil()]: evil(), rows: [{ a: evil(), b: evil() }] } },
  policy: { backoff: { firstMs: 1, longestMs: 1 } },
  touches: [`src/${NAME}/**`],
  metadata: { model: evil(), [evil()]: evil() },
});

/** Returns the text that a hook of Claude Code adds to the context of a session. */
async function hookText(hub: Hub, event: string): Promise<string> {
  const said: string[] = [];
  const input = parseHookInput(
    "claude-code",
    event,
    JSON.stringify({ session_id: `s-${event}`, cwd: "/", hook_event_name: event, prompt: "Go on" }),
  );
  await answerHook(
    hub,
    { harness: "claude-code", event, as: "ben", tokens: 60_000, input },
    (text) => said.push(text),
  );
  const { hookSpecificOutput } = JSON.parse(said.join("")) as {
    hookSpecificOutput: { additionalContext: string };
  };
  return hookSpecificOutput.additionalContext;
}

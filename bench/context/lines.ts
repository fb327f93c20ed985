/** Creates lines of handoffs in a filled store, to measure views after 2 and after 12 hops. */
import type { Envelope } from "../../src/envelope/schema.ts";
import type { Agent, Hub, Memory } from "../../src/index.ts";
import type { Corpus } from "../recall/text.ts";

/** Passes `count` tasks through `hops` agents that report progress. Returns the last envelopes. */
export async function linesOf(
  hub: Hub,
  { text, memories }: { readonly text: Corpus; readonly memories: readonly Memory[] },
  { hops, count }: { readonly hops: number; readonly count: number },
): Promise<Envelope[]> {
  const agents = [await hub.agent("left", {}), await hub.agent("right", {})] as const;
  const last: Envelope[] = [];
  for (let n = 0; n < count; n++) {
    const { content } = memories[(n * 37) % memories.length] as Memory;
    const draft = (hop: number) => ({
      intent: text.question(content),
      task: `line-${hops}-${n}`,
      to: hop % 2 === 0 ? "right" : "left",
      ...reportOf(text, content),
    });
    let envelope = (await agents[0].handoff(draft(0))).envelope as Envelope;
    for (let hop = 1; hop < hops; hop++) {
      const work = await acceptNext(agents[hop % 2] as Agent);
      await work.note({ content: text.question(content), type: "finding" });
      envelope = (await work.handoff(draft(hop))).envelope as Envelope;
    }
    last.push(envelope);
    await (await acceptNext(agents[hops % 2] as Agent)).complete({ summary: "done" });
  }
  return last;
}

async function acceptNext(agent: Agent) {
  const work = await agent.accept();
  if (work === undefined) throw new Error(`The inbox of ${agent.id} is empty`);
  return work;
}

const reportOf = (text: Corpus, content: string) => ({
  done: [text.question(content), text.question(content)],
  doNotRedo: [text.question(content)],
  history: [{ agent: "left", did: text.question(content), why: text.question(content) }],
  artifacts: [{ kind: "file" as const, path: "src/auth.ts", note: text.question(content) }],
});

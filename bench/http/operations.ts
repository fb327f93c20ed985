/** The compared operations, called through the SDK (embedded or remote) or by plain requests. */
import type { Agent, Hub } from "../../src/index.ts";
import type { Line } from "./socket.ts";

export const OPERATIONS = ["remember", "read", "handoff", "cycle"] as const;
export type OperationName = (typeof OPERATIONS)[number];

/** Runs each operation by name; the results are ignored. */
export type Way = Readonly<Record<OperationName, (n: number) => Promise<unknown>>>;

const content = "The port of the service is 8080, and it answers in JSON. ".repeat(5);
const draft = (n: number, to: string) => ({ to, task: `t-${n}`, intent: content });

/** Calls operations through the SDK, on an embedded or a remote hub. */
export async function bySdk(hub: Hub, name: string): Promise<Way> {
  const [ada, bob] = await pairOf(hub, name);
  const { id } = await ada.remember({ content });
  return {
    remember: () => ada.remember({ content }),
    read: () => ada.memories.read(id),
    // Sent to a separate receiver, which never claims, so that the inbox of `cycle` stays short.
    handoff: (n) => ada.handoff(draft(n, `${name}-sink`)),
    async cycle(n) {
      await ada.handoff(draft(n, bob.id));
      const work = await bob.accept();
      await work?.complete({ summary: "Done." });
    },
  };
}

async function pairOf(hub: Hub, name: string): Promise<[Agent, Agent]> {
  await hub.agent(`${name}-sink`, { role: "executor" });
  const session = { lease: "session" } as const;
  return [
    await hub.agent(`${name}-ada`, { role: "planner" }, session),
    await hub.agent(`${name}-bob`, { role: "executor" }, session),
  ];
}

/** Calls operations by plain requests, one at a time, on one connection per agent. */
export async function byRequests(
  open: (agent: string) => Line,
  name: string,
): Promise<Way & Disposable> {
  const [ada, bob] = [open(`${name}-ada`), open(`${name}-bob`)];
  const memories = [{ content }];
  const [{ id }] = JSON.parse(good(await ada.post("/v1/memories", { memories }))) as [
    { id: string },
  ];
  return {
    remember: async () => good(await ada.post("/v1/memories", { memories })),
    read: async () => good(await ada.get(`/v1/memories/${id}`)),
    handoff: async (n) => good(await ada.post("/v1/handoffs", { draft: draft(n, `${name}-sink`) })),
    async cycle(n) {
      good(await ada.post("/v1/handoffs", { draft: draft(n, `${name}-bob`) }));
      const { work } = JSON.parse(good(await bob.post("/v1/inbox/accept", {}))) as {
        work: { handle: string } | null;
      };
      const handle = encodeURIComponent(work?.handle ?? "");
      const result = { summary: "Done." };
      good(await bob.post(`/v1/work/${handle}/complete`, { result }));
    },
    [Symbol.dispose]() {
      ada[Symbol.dispose]();
      bob[Symbol.dispose]();
    },
  };
}

function good({ status, body }: { readonly status: number; readonly body: string }): string {
  if (status === 200) return body;
  throw new Error(`${status}: ${body}`);
}

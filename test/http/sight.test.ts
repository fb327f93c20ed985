/**
 * Private memories in every operation and stream of the table: whatever a caller sends, an answer contains a
 * memory only if the caller may see it. Calls are built from the OpenAPI description, so that a new operation is
 * covered without an entry here. test/memory/scopes.test.ts proves single read paths on every store.
 */
import { describe, expect, it } from "vitest";
import type { LocalHub } from "../../src/hub/hub.ts";
import { OPERATIONS } from "../../src/operations/index.ts";
import { STREAMS } from "../../src/operations/streams.ts";
import { askedBy, type Described, describedOperations, saidIn } from "./fuzz/described.ts";
import { ACTOR, type Facts, factsOf, type Scene, SESSION, sceneOn } from "./scene.ts";
import { as, type Served, served } from "./support.ts";

const SCOPES = ["agent", "session", "user"] as const;
type Scope = (typeof SCOPES)[number];

/** For each caller, the scopes in which it sees memories of `ada` in session `s-1` (owner olga). */
const CALLERS: Readonly<Record<string, readonly Scope[]>> = {
  "the author in the same session": SCOPES,
  "the author in another session": ["agent", "user"],
  "another agent in the author's session": ["session"],
  "another agent of the same owner": ["user"],
  "another agent": [],
  "no agent": [],
};

const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "the author in the same session": as(ACTOR, SESSION),
  "the author in another session": as(ACTOR, "s-2"),
  "another agent in the author's session": as("ben", SESSION),
  "another agent of the same owner": as("kin", "s-3"),
  "another agent": as("ben", "s-4"),
  "no agent": {},
};

/** In the content of each memory; the ids distinguish them. */
const WORD = "KESTREL";
const marks = (scope: Scope): string => `${WORD}-${scope}`;

interface World extends Served {
  readonly scene: Scene;
  /** The ids of the private memories. */
  readonly secrets: Readonly<Record<Scope, string>>;
}

async function world(): Promise<World> {
  const at = await served({ open: "coordinator", hub: { limits: { sqlMs: 60_000 } } });
  const scene = await sceneOn(at.hub);
  const secrets = await secretsOn(at.hub, scene);
  return { ...at, scene, secrets };
}

/** Stores a memory of each private scope, pinned, with edges in both directions. */
async function secretsOn(hub: LocalHub, { fact }: Scene): Promise<Record<Scope, string>> {
  await hub.agent(ACTOR, { owner: "olga" });
  await hub.agent("kin", { owner: "olga" });
  await hub.agent("ben", { owner: "otto" });
  const ada = await hub.local(ACTOR, SESSION);
  const stored = SCOPES.map(async (scope) => {
    const { id } = await ada.remember({
      ...{ content: `The ${marks(scope)} sleeps.`, scope, task: "api", type: "finding" },
      ...{ tags: ["format"], refs: [fact], relations: [{ kind: "supports", to: fact }] },
    });
    await ada.memories.pin(id);
    return [scope, id] as const;
  });
  return Object.fromEntries(await Promise.all(stored)) as Record<Scope, string>;
}

/** Inputs that would find the memories, by the names of fields. */
const FINDING: Facts = { query: WORD, question: WORD, task: "api", tag: "format" };

/** The inputs that an operation is called with: as the scene needs, to find, and with each private id. */
function inputsOf(operation: Described, { scene, secrets }: World): Facts[] {
  const facts = factsOf(scene)[operation.name] ?? {};
  const fields = [
    ...operation.parameters.map(({ name }) => name),
    ...Object.keys((operation.body?.["properties"] ?? {}) as object),
  ];
  const finding = Object.fromEntries(
    Object.entries(FINDING).filter(([name]) => fields.includes(name)),
  );
  const sql = operation.name === "memories.sql" && { query: "select * from memories", params: [] };
  const named = Object.values(secrets).map((id) => replaced(facts, scene, id));
  return [facts, { ...facts, ...finding, ...sql }, ...named];
}

/** The input with the id of every memory of the scene replaced. */
function replaced(facts: Facts, { fact, old, wrong }: Scene, id: string): Facts {
  const text = [fact, old, wrong].reduce(
    (text, known) => text.replaceAll(known, id),
    JSON.stringify(facts),
  );
  return JSON.parse(text) as Facts;
}

/** Calls that only read come first; the one that hides memories from every reader is last. */
const described = describedOperations().sort((a, b) => turnOf(a) - turnOf(b));

function turnOf({ name, method }: Described): number {
  if (name === "memories.quarantine") return 2;
  return method === "GET" ? 0 : 1;
}

/** Calls every operation; returns the scopes whose memories were in an answer, by operation. */
async function seenBy(at: World, headers: Readonly<Record<string, string>>) {
  const seen: Record<string, Scope[]> = {};
  for (const operation of described) {
    const answers: string[] = [];
    for (const facts of inputsOf(operation, at)) {
      answers.push(await answerTo(at, operation, { facts, headers }));
    }
    const text = answers.join("\n");
    seen[operation.name] = SCOPES.filter((scope) => text.includes(marks(scope)));
  }
  return seen;
}

async function answerTo(
  at: World,
  operation: Described,
  { facts, headers }: { readonly facts: Facts; readonly headers: Readonly<Record<string, string>> },
): Promise<string> {
  const said = saidIn(operation, facts, { texts: Object.values(at.secrets) });
  const { path, method, body } = askedBy(operation, said);
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const gone = new AbortController();
  const response = await at.fetch(path, {
    ...{ method, headers: { ...headers, ...type }, signal: gone.signal },
    ...(body === undefined ? {} : { body }),
  });
  if (response.headers.get("content-type") !== "text/event-stream") return response.text();
  const last = await lastMessage(at.hub, operation.name, headers["baton-agent"]);
  const text = await textUntil(response, last);
  gone.abort(); // A stream would stay open.
  return text;
}

/** Returns how the last message that a new reader of a stream gets is marked; undefined if it gets none. */
async function lastMessage(hub: LocalHub, stream: string, agent = ""): Promise<string | undefined> {
  if (stream === "events.stream") {
    const { items } = await hub.events.list({ limit: 1_000 });
    return `id: ${items.at(-1)?.number}\n`;
  }
  const { items } = await (await hub.agent(agent)).deliveries.waiting();
  return items.at(-1) && `id: ${items.at(-1)?.delivery.id}\n`;
}

/** Reads a stream until the marked message has arrived. */
async function textUntil({ body }: Response, mark: string | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  if (mark === undefined || body === null) return text;
  for await (const chunk of body.values({ preventCancel: true })) {
    text += decoder.decode(chunk, { stream: true });
    const at = text.indexOf(mark);
    if (at >= 0 && text.includes("\n\n", at)) return text;
  }
  throw new Error(`The stream ended without ${mark}: ${text}`);
}

/** With the handle of its work an agent acts in the session that accepted it, whichever session it calls from. */
const seenByHandle = (caller: string, name: string): readonly Scope[] =>
  caller === "the author in another session" && name.startsWith("work.") ? ["session"] : [];

describe("private memories", () => {
  it.each(Object.keys(CALLERS))(
    "are in an answer to %s only if it may see them, whatever the operation [MEM-11]",
    async (caller) => {
      const at = await world();
      const seen = await seenBy(at, HEADERS[caller] ?? {});
      const names = [...OPERATIONS.map(({ name }) => name), ...Object.keys(STREAMS)];
      expect(Object.keys(seen).sort()).toEqual(names.sort());
      const allowed = CALLERS[caller] ?? [];
      const forbidden = Object.entries(seen).filter(([name, scopes]) =>
        scopes.some((scope) => ![...allowed, ...seenByHandle(caller, name)].includes(scope)),
      );
      expect(forbidden).toEqual([]);
      // The calls did reach the memories: callers that may see them are shown them in several ways.
      for (const name of [
        "memories.read",
        "memories.recent",
        "recall",
        "memories.sql",
        "memories.pins",
      ]) {
        expect([name, seen[name]]).toEqual([name, caller === "no agent" ? [] : allowed]);
      }
      expect(at.bugs).toEqual([]);
    },
  );
});

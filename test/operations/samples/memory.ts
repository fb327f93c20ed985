/**
 * Sample calls of the operations on agents, memories, traces, branches, settings and the hub, one
 * each.
 */
import { createPrivateKey, type KeyObject } from "node:crypto";
import { publicKeyOf } from "../../../src/base/signing-keys.ts";
import type { LocalHub } from "../../../src/hub/hub.ts";
import { agentsOperations } from "../../../src/operations/agents.ts";
import { branchesOperations } from "../../../src/operations/branches.ts";
import { hubOperations } from "../../../src/operations/hub.ts";
import { memoriesOperations } from "../../../src/operations/memories.ts";
import type { OperationContext } from "../../../src/operations/operation.ts";
import { settingsOperations } from "../../../src/operations/settings.ts";
import { tracesOperations } from "../../../src/operations/traces.ts";
import { actingOn } from "../../http/acting.ts";
import type { Input } from "./input.ts";

const DEFINED = {
  ...agentsOperations,
  ...memoriesOperations,
  ...tracesOperations,
  ...branchesOperations,
  ...settingsOperations,
  ...hubOperations,
};

export type MemoryOperation = keyof typeof DEFINED;
export const MEMORY_OPERATIONS = Object.keys(DEFINED) as MemoryOperation[];

export interface MemoryWorld {
  readonly hub: LocalHub;
  readonly acting: OperationContext;
  /** Ids of memories: a superseded one, a current one, a private one, a quarantined one. */
  readonly old: string;
  readonly fact: string;
  readonly secret: string;
  readonly wrong: string;
  readonly token: string;
  /** A public key that no agent has. */
  readonly newKey: string;
}

/** Returns the same Ed25519 key for the same number, because the examples must not change. */
function keyFrom(seed: number): KeyObject {
  const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
  const der = Buffer.concat([prefix, Buffer.alloc(32, seed)]);
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
}

/** Adds agents, memories, a handoff, a branch, a trace and, unless it is turned off, a token to an empty hub. */
export async function memoryWorldOn(hub: LocalHub, hasToken = true): Promise<MemoryWorld> {
  await hub.agent("bob", { role: "executor", owner: "Kim", aliases: ["robert"], window: 8_000 });
  const ada = await hub.agent("ada", { role: "planner" }, { instance: "s-1", lease: "session" });
  const old = await ada.remember({ content: "The API returns XML.", task: "api" });
  const fact = await ada.remember({
    content: "The API returns JSON, not XML.",
    data: { port: 8080 },
    task: "api",
    tags: ["format"],
    relations: [{ kind: "supersedes", to: old.id }],
    importance: 0.8,
  });
  const secret = await ada.remember({ content: "Ask Kim before Friday.", scope: "agent" });
  const wrong = await ada.remember({ content: "The API runs on port 9." });
  await ada.memories.quarantine(wrong.id, "Wrong port.");
  await ada.memories.pin(fact.id);
  await ada.trace({ kind: "tool", name: "curl", input: "/", output: { status: 200 }, task: "api" });
  await ada.handoff({ to: "bob", task: "api", intent: "Read the API.", refs: [fact.id] });
  await hub.payloadTypes.set("patch", { type: "object" });
  const branch = await ada.branches.create("run-1/ada");
  await branch.remember({ content: "On the branch it is YAML.", task: "api" });
  await hub.agent("kay", { key: keyFrom(1) });
  const newKey = publicKeyOf(keyFrom(2));
  const added = { agent: "bob", access: "agent", label: "laptop" } as const;
  const token = hasToken ? (await hub.tokens.add(added, "ada")).info.id : "";
  return {
    ...{ hub, acting: actingOn(hub, { named: "ada" }) },
    ...{ old: old.id, fact: fact.id, secret: secret.id, wrong: wrong.id, token, newKey },
  };
}

/** One value for every part of the settings. */
export const SETTINGS_UPDATE = {
  releasers: ["lead"],
  keepers: ["lead"],
  lint: { secret: "refuse" },
  retention: { traces: { sessions: 10 } },
  secrets: "refuse",
  handoffs: { actions: ["delegated"], unregistered: "refuse" },
  profiles: { coder: { types: { finding: 3 } } },
} as const;

interface MemorySample {
  /** Returns the input of the call, made by ada. Default: {}. */
  readonly input?: (world: MemoryWorld) => Input;
}

export const MEMORY_SAMPLES: Readonly<Record<MemoryOperation, MemorySample>> = {
  "agents.me": {},
  agent: {
    input: () => ({ name: "cy", profile: { role: "critic", name: "Cy", policy: "direct" } }),
  },
  "agents.get": { input: () => ({ name: "robert" }) },
  "agents.list": {},
  "agents.pause": { input: () => ({ name: "bob" }) },
  "agents.unpause": { input: () => ({ name: "bob" }) },
  "agents.keys": { input: () => ({ name: "bob" }) },
  "agents.rotateKey": {
    input: ({ newKey: publicKey }) => ({ name: "kay", publicKey, reason: "Yearly." }),
  },
  "agents.revokeKey": { input: () => ({ name: "kay", since: 1_000, reason: "It leaked." }) },
  "archive.head": {},
  "tokens.add": { input: () => ({ agent: "bob", access: "reader", expiresInMs: 60_000 }) },
  "tokens.list": {},
  "tokens.revoke": { input: ({ token: id }) => ({ id, reason: "It was lost." }) },
  remember: {
    input: () => ({
      known: "report",
      memories: [
        { content: "The API returns JSON, not XML.", task: "api" },
        { content: "Log in with ghp_0123456789abcdefghijABCDEFGHIJ012345." },
      ],
    }),
  },
  "memories.similar": {
    input: () => ({ memory: { content: "The API returns JSON, not XML.", task: "api" } }),
  },
  "memories.read": { input: ({ old: id }) => ({ id, freshest: true, level: "summary" }) },
  "memories.recent": { input: () => ({ task: "api", type: "fact", limit: 5 }) },
  recall: {
    input: () => ({ question: "What does the API return?", superseded: "marked", traces: true }),
  },
  "memories.relations": { input: ({ old: id }) => ({ id, direction: "in" }) },
  "memories.impact": { input: ({ fact: id }) => ({ id }) },
  "memories.pin": { input: ({ secret: id }) => ({ id }) },
  "memories.unpin": { input: ({ fact: id }) => ({ id }) },
  "memories.pins": {},
  "memories.allowText": {
    input: () => ({ text: "Rel4821x77Qb90Zeu3", reason: "It is a build number." }),
  },
  "memories.quarantine": {
    input: ({ fact }) => ({ what: [fact], reason: "Wrong.", downstream: true }),
  },
  "memories.lift": { input: ({ wrong }) => ({ what: wrong, reason: "Port 9 is right." }) },
  "memories.quarantined": {},
  "memories.redact": {
    input: ({ fact }) => ({ target: { ids: [fact] }, reason: "It names a customer." }),
  },
  "memories.sql": {
    input: () => ({
      query: "SELECT id, ? AS one, ? AS bytes FROM memories WHERE task = ? ORDER BY seq",
      params: [1, { base64: "AP8=" }, "api"],
    }),
  },
  "memories.exportMarkdown": { input: () => ({ task: "api" }) },
  "memories.importMarkdown": {
    input: () => ({ text: "## Facts\n\n- The sky is blue.\n", task: "api" }),
  },
  catchUp: { input: () => ({ tokens: 4_000 }) },
  trace: {
    input: () => ({
      steps: [
        { kind: "prompt", content: "Go." },
        { kind: "result", ok: true },
      ],
    }),
  },
  "traces.list": { input: () => ({ session: "s-1" }) },
  "traces.sessions": {},
  "traces.counts": {},
  "branches.list": { input: () => ({ prefix: "run-1/" }) },
  "branches.create": { input: () => ({ name: "run-2", from: "run-1/ada" }) },
  "branches.use": { input: () => ({ name: "run-1/ada" }) },
  "branches.diff": { input: () => ({ name: "run-1/ada" }) },
  "branches.merge": { input: () => ({ name: "run-1/ada" }) },
  "branches.abandon": { input: () => ({ name: "run-1/ada", reason: "It led nowhere." }) },
  "settings.get": {},
  "settings.update": { input: () => SETTINGS_UPDATE },
  "payloadTypes.list": {},
  "payloadTypes.versions": { input: () => ({ name: "patch" }) },
  "payloadTypes.set": {
    input: () => ({ name: "patch", schema: { type: "object", required: ["files"] } }),
  },
  "payloadTypes.delete": { input: () => ({ name: "patch" }) },
  "memories.prune": { input: () => ({ dryRun: true }) },
  verify: {},
  "memories.secretsFound": { input: () => ({ limit: 10 }) },
  "index.state": {},
  "index.models": {},
  "index.deleteModel": { input: () => ({ model: "old-model" }) },
  "index.embed": {},
  "events.audit": { input: () => ({ limit: 1, action: "agent" }) },
  "events.list": { input: () => ({ after: 0, limit: 1 }) },
  "agents.breakers": {},
  "agents.resetBreaker": { input: () => ({ receiver: "bob" }) },
};

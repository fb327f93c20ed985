/** One call of each operation of a store that answers later. An operation without one does not compile. */
import { sha256 } from "../../../src/base/digest.ts";
import { ROW_KINDS, type RowKind } from "../../../src/store/archive.ts";
import type { Store } from "../../../src/store/store.ts";
import { publicVisibility } from "../../../src/store/visibility.ts";
import { RELEASED } from "../../../store-contract/suite/handoff-input.ts";
import { searchOf } from "../../../store-contract/suite/records/search.ts";
import type { Scene } from "../../../store-contract/suite/scene.ts";

type AnswersLater<Operation> = Operation extends (...args: never[]) => infer Answer
  ? Answer extends Promise<unknown> | AsyncGenerator
    ? true
    : false
  : false;

/** The operations of a store that answer later; closing is tested on its own. */
export type StoreCalls = {
  readonly [Name in keyof Omit<Store, "close"> as AnswersLater<Store[Name]> extends true
    ? Name
    : never]: () => Promise<unknown>;
};

const MODEL = "model";

/** Returns the calls, with inputs for which a connected store reads or writes. */
export async function storeCalls(scene: Scene): Promise<StoreCalls> {
  const { store, workspace, branch } = scene;
  const record = scene.record("ada");
  await scene.remember([record]);
  const held = await scene.underWay();
  const claimed = await scene.claimOne("cyd", {
    delivery: (await scene.send({ to: "cyd" })).delivery.id,
  });
  const ready = (await scene.send({ to: "ben", task: "other" })).delivery;
  const sight = publicVisibility(branch);
  const session = { workspace, agent: "ben", instance: "ben-1" };
  const model = { workspace, model: MODEL };
  const page = { workspace, limit: 10 };
  const steps = { workspace, branch, upTo: 1 };
  const counts = Object.fromEntries(ROW_KINDS.map((kind) => [kind, 0])) as Record<RowKind, number>;
  const noRows = async function* () {};
  return {
    registerAgent: () => scene.register("dan"),
    findAgent: () => store.findAgent(workspace, "ada"),
    listAgents: () => store.listAgents(workspace),
    listHeads: () => store.listHeads(workspace),
    appendMemories: () => scene.append(scene.record("ada")),
    readMemories: () => store.readMemories(workspace, [record.id]),
    recentMemories: () => store.recentMemories({ ...page, sight, filter: {} }),
    findTips: () => store.findTips({ workspace, branches: [branch] }),
    findRelations: () =>
      store.findRelations({ ...page, memory: record.id, direction: "out", sight }),
    findInbound: () =>
      store.findInbound({ ...page, memories: [record.id], kinds: ["continues-from"] }),
    search: () => store.search(searchOf(scene, "fact")),
    findUnembedded: () => store.findUnembedded({ ...model, limit: 1 }),
    putVectors: () => store.putVectors({ ...model, dimensions: 1, vectors: [], upTo: 0 }),
    listModels: () => store.listModels(workspace),
    dropModel: () => store.dropModel(workspace, MODEL),
    putEntry: () => scene.put("key", "name", "{}"),
    findEntry: () => store.findEntry(workspace, "key", "name"),
    listEntries: () => store.listEntries({ ...page, kind: "key" }),
    sendHandoff: () => store.sendHandoff(scene.handoff({ task: "another" })),
    sendHandoffs: () =>
      store.sendHandoffs([scene.handoff({ task: "third" }), scene.handoff({ task: "fourth" })]),
    claimDeliveries: () => scene.claim("ben"),
    acceptDelivery: () =>
      store.acceptDelivery({
        ...{ workspace, branch, lease: scene.lease(claimed) },
        memory: scene.continuing(claimed),
      }),
    settleDelivery: () => store.settleDelivery(scene.settlement(held, RELEASED)),
    moveDeliveries: () => {
      const move = scene.moveOf(ready, { to: "ready", event: "deadline_passed", lapseMs: 7 });
      return store.moveDeliveries(scene.moving([move]));
    },
    listDue: () => scene.due(),
    nextDue: () => store.nextDue(),
    makeRetriesReady: () => store.makeRetriesReady(workspace),
    renewLease: () => store.renewLease(workspace, scene.lease(held)),
    renewSession: () => store.renewSession(session, 60_000),
    listProcesses: () => store.listProcesses(workspace),
    findDelivery: () => store.findDelivery(workspace, ready.id),
    listDeliveries: () => store.listDeliveries({ ...page, receivers: ["ben"], states: ["ready"] }),
    listParked: () => store.listParked({ ...page, state: "dead" }),
    browseDeliveries: () => store.browseDeliveries({ ...page, visits: 10 }),
    countOpen: () => store.countOpen(workspace, "ben", 10),
    findEnvelope: () => store.findEnvelope(workspace, held.envelope.id),
    readLine: () => store.readLine(workspace, "task"),
    readAttempts: () => store.readAttempts(workspace, held.delivery.id),
    readEvents: () => store.readEvents(workspace, 0, 10),
    listTraces: () => store.listTraces(page),
    surveyTrace: () => store.surveyTrace(steps),
    pruneTrace: () => store.pruneTrace({ ...steps, branch: "trace/none", limit: 1 }),
    surveyEvents: () => store.surveyEvents({ workspace, keep: 1_000 }),
    pruneEvents: () => store.pruneEvents(workspace, 0, 1),
    redactBodies: () => {
      const digest = sha256(`another ${record.text}`); // Refused: nothing changes.
      const erasure = { kind: "memory", id: record.id, digest, text: "{}" } as const;
      return store.redactBodies({
        ...{ workspace, branch, memory: scene.record("ada"), erasures: [erasure] },
      });
    },
    seekText: () => store.seekText({ workspace, forms: ["a fact"], after: "" }),
    scrub: () => store.scrub(workspace, ["a fact"]),
    countDeliveries: () => store.countDeliveries(workspace),
    verify: () => store.verify(workspace),
    indexState: () => store.indexState(),
    query: () =>
      store.query({
        ...{ workspace, text: "select id from memories", params: [], sight },
        ...{
          vectors: { attached: false, model: "" },
          bounds: { rows: 1, bytes: 1_000, ms: 5_000 },
        },
      }),
    exportWorkspace: async () => {
      const rows = store.exportWorkspace(workspace);
      await rows.next();
      await rows.return();
    },
    importWorkspace: () => {
      const summary = { counts, heads: [], lastPlace: 0 };
      return store.importWorkspace("empty", { summary, rows: noRows() });
    },
    backup: () => store.backup("unused"),
  };
}

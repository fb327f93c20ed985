/**
 * Property test with random teams, tasks, failures, crashes and coordinators: every task ends once,
 * with a reason, and every failure is decided. `BATON_SEED` repeats a team.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { isBatonError, type Store } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/index.ts";
import { openReferenceStore } from "../../store-contract/reference/open.ts";
import { sharedStore } from "../support/hub/shared-store.ts";
import type { StoreName } from "../support/hub/support.ts";
import { chosenSeed } from "../support/random.ts";
import { runs } from "../support/runs.ts";
import { auditTeam } from "./audit-team.ts";
import { TeamPlay } from "./play-team.ts";
import type { Stage } from "./team-run.ts";

const TEAMS = { memory: runs(100), sqlite: runs(6), postgres: runs(2) } as const;
/** Teams are added until everything in `OFTEN` has happened, at most by this factor. */
const MOST = 20;

/** What must happen in the teams on memory; otherwise they prove little. */
const OFTEN = [
  "accepted",
  "answer: already",
  "answer: asked",
  "answer: decided",
  "closing: done",
  "closing: task_open",
  "crash",
  "decided: abort",
  "decided: abort by the hub",
  "decided: reroute",
  "decided: reroute by the hub",
  "decided: retry",
  "decided: retry by the hub",
  "ended: cancelled",
  "ended: done",
  "ended: failed",
  "function throws",
  "question answered",
  "rivals",
  "signal aborted",
  "task cancelled",
] as const;

/** Opens the same store for each process and for the audit. */
async function stages(store: StoreName): Promise<(team: number) => Stage> {
  if (store === "memory") {
    return () => {
      const clock = new VirtualClock();
      const one = openReferenceStore({ clock });
      return { workspace: "default", clock, stores: [one, one, one, one] };
    };
  }
  const clock = new VirtualClock(systemClock.now());
  const reopen = sharedStore(store, { clock });
  const stores: readonly [Store, Store, Store, Store] = [
    await reopen(),
    await reopen(),
    await reopen(),
    await reopen(),
  ];
  return (team) => ({ workspace: `team-${team}`, clock, stores });
}

/** Collects errors of follow-ups and policies, except those of a process that died. */
function collectPolicyErrors(): unknown[] {
  const errors: unknown[] = [];
  const listen = (message: unknown): void => {
    const { error } = message as { readonly error: unknown };
    if (!isBatonError(error) || error.code !== "store_closed") errors.push(message);
  };
  for (const channel of ["undecided", "unfinished"]) {
    subscribe(`batonpass:policy:${channel}`, listen);
    onTestFinished(() => void unsubscribe(`batonpass:policy:${channel}`, listen));
  }
  return errors;
}

/** Runs one team; returns what happened, one entry per occurrence. */
async function playOne(seed: number, stage: Stage): Promise<readonly string[]> {
  const team = new TeamPlay(seed, stage);
  try {
    await team.play();
    const found = await auditTeam(team);
    return [...team.happened, ...found];
  } catch (cause) {
    const plan = JSON.stringify(team.plan);
    const trail = team.trail.slice(-80).join("\n");
    throw new Error(`BATON_SEED=${seed}: ${String(cause)}\n${plan}\n${trail}`, { cause });
  }
}

describe.each(["memory", "sqlite", "postgres"] as const)("random teams on %s", (store) => {
  it(`end every task once and decide every failure, ${TEAMS[store]} times [CRD-2 CRD-3 CRD-4]`, {
    timeout: 300_000 + TEAMS[store] * 2_000,
  }, async () => {
    const seed = chosenSeed();
    console.log(`BATON_SEED=${seed}`);
    const errors = collectPolicyErrors();
    const stageOf = await stages(store);
    const tally = new Map<string, number>();
    const least = store === "memory" ? Math.max(1, TEAMS[store] / 100) : 0;
    const rare = () => OFTEN.filter((what) => (tally.get(what) ?? 0) < least);
    const most = MOST * TEAMS[store];
    for (let n = 0; n < TEAMS[store] || (rare().length > 0 && n < most); n++) {
      const happened = await playOne(seed + n, stageOf(n));
      for (const what of happened) tally.set(what, (tally.get(what) ?? 0) + 1);
      expect(errors, `what could not be done in team ${seed + n}`).toEqual([]);
    }
    console.log(JSON.stringify(Object.fromEntries([...tally].sort())));
    expect(rare(), "what hardly ever happened").toEqual([]);
  });
});

/** A workspace that records how long each operation of its store and its tokenizer takes. */

import { systemClock } from "../../src/base/clock.ts";
import { randomIdGenerator } from "../../src/base/ids.ts";
import { resolveLimits } from "../../src/base/limits.ts";
import { createFollowUpHandlers } from "../../src/coordination/follow-up-handlers.ts";
import { systemProcesses } from "../../src/delivery/receive/process-identity.ts";
import { PayloadTypes } from "../../src/envelope/payload-types.ts";
import { DEFAULT_VERSIONS } from "../../src/envelope/versions.ts";
import { WorkspaceEmbeddings } from "../../src/memory/recall/embedding-service.ts";
import { bundledWordVectors } from "../../src/search/embedding/word-vectors.ts";
import type { Store } from "../../src/store/store.ts";
import { ANONYMOUS_READER, MAIN_BRANCH } from "../../src/store/visibility.ts";
import type { Tokenizer } from "../../src/text/tokens.ts";
import type { Workspace } from "../../src/workspace/workspace.ts";

/** Adds up milliseconds and calls by activity. */
export class Times {
  readonly #spent = new Map<string, { ms: number; calls: number }>();

  add(what: string, ms: number): void {
    const known = this.#spent.get(what) ?? { ms: 0, calls: 0 };
    this.#spent.set(what, { ms: known.ms + ms, calls: known.calls + 1 });
  }

  /** Returns averages over `count` items, longest first. */
  per(count: number): { readonly what: string; readonly ms: number; readonly calls: number }[] {
    return [...this.#spent]
      .map(([what, { ms, calls }]) => ({ what, ms: ms / count, calls: calls / count }))
      .sort((a, b) => b.ms - a.ms);
  }

  clear(): void {
    this.#spent.clear();
  }
}

export function timedWorkspace(store: Store, times: Times): Workspace {
  return {
    name: "default",
    root: {},
    branch: MAIN_BRANCH,
    reader: ANONYMOUS_READER,
    store: timedStore(store, times),
    clock: systemClock,
    ids: randomIdGenerator(systemClock),
    random: Math.random,
    processes: systemProcesses,
    limits: resolveLimits(),
    payloads: new PayloadTypes(),
    versions: DEFAULT_VERSIONS,
    policy: undefined,
    route: undefined,
    duties: createFollowUpHandlers(),
    meaning: new WorkspaceEmbeddings(async () => bundledWordVectors()),
    known: "ignore",
    files: undefined,
    secrets: undefined,
    summarizer: undefined,
  };
}

/** Times each operation from call to result; concurrent operations each count in full. */
function timedStore(store: Store, times: Times): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        const start = performance.now();
        const answer = (value as (...args: unknown[]) => unknown).apply(target, given);
        if (!(answer instanceof Promise)) return answer;
        return answer.finally(() => times.add(`store: ${name}`, performance.now() - start));
      };
    },
  });
}

export function timedTokenizer(tokenizer: Tokenizer, times: Times): Tokenizer {
  return {
    ...tokenizer,
    count(text) {
      const start = performance.now();
      const tokens = tokenizer.count(text);
      times.add("count", performance.now() - start);
      return tokens;
    },
  };
}

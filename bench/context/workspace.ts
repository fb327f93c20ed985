/** A workspace on a store whose operations, and whose tokenizer, say how long they took. */

import { systemClock } from "../../src/base/clock.ts";
import { randomIds } from "../../src/base/ids.ts";
import { resolveLimits } from "../../src/base/limits.ts";
import { dutiesWith } from "../../src/coordination/duties.ts";
import { systemProcesses } from "../../src/delivery/receive/process.ts";
import { PayloadTypes } from "../../src/envelope/payload.ts";
import { SHIPPED } from "../../src/envelope/versions.ts";
import { Meaning } from "../../src/memory/recall/meaning.ts";
import { bundledWords } from "../../src/search/embedding/word-vectors.ts";
import { NOBODY, TRUNK } from "../../src/store/sight.ts";
import type { Store } from "../../src/store/store.ts";
import type { Tokenizer } from "../../src/text/tokens.ts";
import type { Workspace } from "../../src/workspace/workspace.ts";

/** Milliseconds and calls, by what they were spent on. */
export class Times {
  readonly #spent = new Map<string, { ms: number; calls: number }>();

  add(what: string, ms: number): void {
    const known = this.#spent.get(what) ?? { ms: 0, calls: 0 };
    this.#spent.set(what, { ms: known.ms + ms, calls: known.calls + 1 });
  }

  /** For each of so many, the most first. */
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
    branch: TRUNK,
    reader: NOBODY,
    store: timedStore(store, times),
    clock: systemClock,
    ids: randomIds(systemClock),
    random: Math.random,
    processes: systemProcesses,
    limits: resolveLimits(),
    payloads: new PayloadTypes(),
    versions: SHIPPED,
    policy: undefined,
    route: undefined,
    duties: dutiesWith(),
    meaning: new Meaning(async () => bundledWords()),
    known: "ignore",
    files: undefined,
    secrets: undefined,
    summarizer: undefined,
  };
}

/** Each operation from its call to its answer, so that what runs beside another counts for both. */
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

/** Work that tells whether its holder has ended it: also when code that knows nothing of the kit did. */
import type { Work } from "../hub/work.ts";

export interface WatchedWork {
  readonly work: Work;
  /** Completed, failed, declined, asked about, given back or handed on by its holder. */
  isOver(): boolean;
}

const ENDINGS: readonly PropertyKey[] = [
  "clarify",
  "complete",
  "decline",
  "fail",
  "handoff",
  "release",
  Symbol.asyncDispose,
];

type Method = (...args: readonly unknown[]) => unknown;

export function watchWork(work: Work): WatchedWork {
  let over = false;
  const watching =
    (method: Method): Method =>
    async (...args) => {
      const answer = await method(...args);
      over = true;
      return answer;
    };
  const watched = new Proxy(work, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const method = value.bind(target) as Method;
      return ENDINGS.includes(name) ? watching(method) : method;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
  return { work: watched, isOver: () => over };
}

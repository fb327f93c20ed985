/** Wraps work so that the test kit knows whether its holder ended it, also if other code did. */
import type { Work } from "../hub/work.ts";

/** Work, and whether it has ended. */
export interface WatchedWork {
  readonly work: Work;
  /**
   * Returns true if its holder completed, failed, declined, released or handed on the work, or asked a
   * question.
   */
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

/** Wraps work in a proxy that records calls which end it. */
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

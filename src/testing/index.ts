/**
 * The test kit: what users of Baton need to test their own agents without a disk, a clock or a model.
 * Needs no test runner of its own: what is not as expected throws node:assert's AssertionError.
 */
export { type EndState, expectLine, type LineAssertions } from "./expect-line.ts";
export { lineText } from "./line-text.ts";
export { type MemoryHub, type MemoryHubOptions, memoryHub } from "./memory-hub.ts";
export { type PlayOptions, type PlayResult, play } from "./play.ts";
export {
  type AnswerStep,
  type Script,
  type ScriptedAgent,
  type StepContext,
  scriptedAgent,
  type WorkStep,
} from "./scripted-agent.ts";
export { seededIds, seededRandom } from "./seeded-ids.ts";
export {
  answers,
  clarifies,
  completes,
  crashes,
  declines,
  fails,
  handsOver,
  type NextHandoff,
  notes,
  releases,
  stalls,
  worksFor,
} from "./steps.ts";
export { VirtualClock } from "./virtual-clock.ts";

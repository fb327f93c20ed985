/**
 * The test kit: everything to test agents that use Baton without a disk, a real clock or a model. Needs no
 * specific test runner: failed assertions throw the AssertionError of node:assert.
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

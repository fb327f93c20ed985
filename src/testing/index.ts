/** The test kit: what users of Baton need to test their own agents without a disk or a clock. */
export { type MemoryHub, type MemoryHubOptions, memoryHub } from "./memory-hub.ts";
export { seededIds, seededRandom } from "./seeded-ids.ts";
export { VirtualClock } from "./virtual-clock.ts";

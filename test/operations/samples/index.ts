/** Sample calls, one of every operation, for the tests and for scripts/operation-examples.ts. */
import type { LocalHub } from "../../../src/hub/hub.ts";
import type { OperationContext } from "../../../src/operations/operation.ts";
import { DELIVERY_SAMPLES, type DeliveryOperation, DeliveryWorld } from "./delivery.ts";
import type { Input } from "./input.ts";
import { MEMORY_SAMPLES, type MemoryOperation, memoryWorldOn } from "./memory.ts";

export interface SampleCall {
  readonly acting: OperationContext;
  readonly input: Input;
}

/** Sets up an empty hub for the sample call of an operation, and returns the call. */
export async function sampleCall(name: string, hub: LocalHub): Promise<SampleCall> {
  if (name in DELIVERY_SAMPLES) {
    const world = await DeliveryWorld.on(hub);
    const { as = "ada", input } = DELIVERY_SAMPLES[name as DeliveryOperation];
    return { acting: world.as(as), input: (await input?.(world)) ?? {} };
  }
  // A head covers the audit record of a token, which is random; all else is the same in every run.
  const world = await memoryWorldOn(hub, name !== "archive.head");
  const { input } = MEMORY_SAMPLES[name as MemoryOperation];
  return { acting: world.acting, input: input?.(world) ?? {} };
}

/** `agent.handoffs.join()`: sends a handoff that waits for other handoffs. */
import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import { DeliveryId, type DraftOf } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { unknownDelivery } from "../../history/unknown-delivery.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { addFollower, openJoin } from "../due/join.ts";
import type { SentHandoff } from "./idempotency-key.ts";
import type { Sender } from "./plan.ts";
import { sendHandoff } from "./send.ts";

const JoinSchema = z.strictObject({
  of: z
    .array(DeliveryId)
    .min(1)
    .max(FORMAT_LIMITS.parents - 2),
  need: z.union([z.enum(["all", "any"]), z.int().positive()]),
});
type Join = z.input<typeof JoinSchema>;

/**
 * Sends a handoff that opens when `need` ("all" by default, "any" or a number) of the others have completed.
 */
export async function joinHandoffs<T>(
  workspace: Workspace,
  sender: Sender,
  of: readonly ({ readonly id: string } | string)[],
  given: DraftOf<T> & { readonly need?: Join["need"] },
): Promise<SentHandoff<T>> {
  const what = { code: "invalid_input", what: "The join" } as const;
  const { need: wanted = "all", ...draft } = parseOrThrow(z.looseObject({}), given, what);
  const ids = parseOrThrow(z.array(z.unknown()), of, { ...what, prefix: "of" }).map(idOf);
  const checked = parseOrThrow(JoinSchema, { need: wanted, of: ids }, what);
  const deliveries = [...new Set(checked.of)];
  const need = requiredCount(checked.need, deliveries.length);
  const { store, name } = workspace;
  const found = await Promise.all(deliveries.map((id) => store.findDelivery(name, id)));
  const missing = deliveries.find((_, i) => found[i] === undefined);
  if (missing !== undefined) throw unknownDelivery(missing);
  const outcome = await sendHandoff<T>(workspace, sender, draft as DraftOf<T>, {
    joins: { deliveries, need },
    inherits: found.flatMap((each) => each?.envelope.task ?? []),
  });
  if (outcome.kind !== "sent") throw new Error("a join outside a lease cannot lose one");
  for (const own of outcome.joined === "repeated" ? [] : outcome.deliveries) {
    await addFollower(workspace, own.id, deliveries);
    const now = await store.findDelivery(name, own.id);
    if (now !== undefined) await openJoin(workspace, now); // All of them may have completed already.
  }
  return outcome;
}

/** Returns the id of a sent handoff, or the value itself, which the schema then checks. */
const idOf = (each: unknown): unknown =>
  typeof each === "object" && each !== null && "id" in each ? each.id : each;

function requiredCount(need: Join["need"], of: number): number {
  const wanted = need === "all" ? of : need === "any" ? 1 : need;
  if (wanted <= of) return wanted;
  throw new BatonError("invalid_input", {
    message: `need: ${wanted} is more than the ${of} handoffs to wait for.`,
    path: "need",
    hint: 'Use "all", "any" or a number up to the number of handoffs.',
  });
}

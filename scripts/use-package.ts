/**
 * A user program that check-package.ts runs inside the package. Checks that the bundled entries
 * share one copy of every class (`instanceof BatonError` works across entries), that the client,
 * which has its own copy, recognizes errors of the other entries, and that schemas of another zod
 * are accepted.
 */
import assert from "node:assert/strict";
import { BatonError, openHub } from "batonpass";
import { isBatonError, openHub as openServedHub } from "batonpass/client";
import { memoryHub } from "batonpass/testing";
import * as z from "zod";

const refused = (error: unknown): boolean =>
  error instanceof BatonError && error.code === "invalid_payload";

await using kit = memoryHub();
await assert.rejects(kit.hub.agent(""), BatonError);
await assert.rejects(kit.hub.agent(""), isBatonError);
await assert.rejects(openServedHub("memory:"), isBatonError);

await using hub = await openHub("memory:");
const coder = await hub.agent("coder", { role: "coder" });
await hub.agent("reviewer", { role: "reviewer" });
await hub.payloadTypes.define("by zod", z.object({ files: z.array(z.string()) }));
await hub.payloadTypes.set("by JSON Schema", {
  properties: { files: { items: { type: "string" } } },
});
for (const type of ["by zod", "by JSON Schema"]) {
  const handoff = { to: "reviewer", intent: "Review" };
  await coder.handoff({ ...handoff, payload: { type, data: { files: ["auth.ts"] } } });
  const wrong = { type, data: { files: [1] } };
  await assert.rejects(coder.handoff({ ...handoff, payload: wrong }), refused);
}

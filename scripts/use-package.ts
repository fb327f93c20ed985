/**
 * A program of a user's, run by check-package.ts inside the package. Whatever files that is made of, its
 * entries share one copy of everything: an error of one is an error of all. The client has a copy of its own,
 * and knows errors of the others. A schema of the user's zod, which is not the package's own, is a schema.
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

/**
 * A refused accept on PostgreSQL: the transaction that reserved the handoff has ended when the caller
 * gets the error, so that another hub finds the handoff at once.
 */
import { expect, it } from "vitest";
import { openHub } from "../../../src/index.ts";
import { refusal } from "../../support/hub/support.ts";
import { startProxy } from "../../support/postgres/proxy.ts";
import { testSchema } from "../../support/postgres/schema.ts";

it("reports its error only after its reservation has ended [DLV-11]", async () => {
  await using schema = testSchema();
  const requests: string[] = [];
  await using proxy = await startProxy(schema.address, {
    onRequest: (_, body) => void requests.push(body.toString("latin1")),
  });
  await using hub = await openHub(proxy.through(schema.address));
  const planner = await hub.agent("planner", {});
  const coder = await hub.agent("coder", {});
  await planner.handoff({ to: "coder", task: "t", intent: "Refactor auth", receipt: true });
  requests.length = 0;
  expect(await refusal(coder.accept())).toMatchObject({ code: "receipt_required" });
  const picked = requests.findIndex((text) => text.includes(".pick("));
  expect(picked).toBeGreaterThanOrEqual(0);
  expect(requests.slice(picked)).toContainEqual(expect.stringContaining("commit"));
});

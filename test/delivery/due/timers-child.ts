/** Sends a handoff with a timeout, waits until the timers of the hub run, and ends without closing the hub. */
import { openHub } from "../../../src/index.ts";
import { sayLine } from "../../support/child.ts";
import { until } from "../../support/until.ts";

const hub = await openHub(process.argv[2]);
const ada = await hub.agent("ada", { role: "planner" });
const policy = { deadlineMs: 20 };
const { id } = await ada.handoff({ to: "ada", task: "due", intent: "Expire", policy });
await until("it is expired", async () => {
  return (await hub.deliveries.get(id)).delivery.state === "expired";
});
await ada.handoff({ to: "ada", task: "later", intent: "Wait", policy: { acceptMs: 600_000 } });
sayLine("listening");

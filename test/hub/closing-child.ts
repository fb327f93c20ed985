/**
 * Closes a hub while a call is pending, with nothing else that keeps the process alive: `<address> <call>`.
 * Prints how the call and the closing ended.
 */
import { openHub } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";

const [address = "", call = ""] = process.argv.slice(2);
const hub = await openHub(address);

const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
  verify: () => hub.verify(),
  totals: () => hub.deliveries.totals(),
  recall: () => hub.recall("what was decided?"),
  sql: () => hub.memories.sql("select count(*) from memories"),
};

const pending = CALLS[call]?.().then(
  () => "done",
  (error: { code: string }) => error.code,
);
await hub.close();
sayLine({ closed: true });
sayLine({ call: await pending });

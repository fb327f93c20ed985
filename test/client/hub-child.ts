/**
 * Serves a hub on the given file from its own process, on any free port, and prints its address.
 */
import { listen } from "../../src/http/listen.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { sayLine } from "../support/child.ts";

const [file = ""] = process.argv.slice(2);
const { address } = await listen(await openLocalHub(`sqlite:${file}`), {
  port: 0,
  open: "coordinator",
});
sayLine({ address });

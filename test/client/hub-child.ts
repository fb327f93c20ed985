/** A hub that is served from a process of its own: on this file, on any free port. Says where. */
import { listen } from "../../src/http/listen.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { sayLine } from "../support/child.ts";

const [file = ""] = process.argv.slice(2);
const { address } = await listen(await openLocalHub(`sqlite:${file}`), { port: 0 });
sayLine({ address });

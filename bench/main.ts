/**
 * `npm run bench`: runs the benchmarks selected with `--only`:
 *
 *   append, cycle, million   Baton on SQLite compared with the raw engine (default)
 *   delivery                 Baton on SQLite and PostgreSQL compared with queues and raw engines
 *   growth                   cost of delivery with a long history, a long inbox or many receivers
 *   recall                   cost of recall, by store size
 *   context                  cost of composing a receiver's view, with a breakdown of the time
 *   shared                   cost of reading the shared context with a long history
 *   startup                  startup time of the command line and its hooks, compared with Node
 *   http                     overhead of HTTP per operation, and throughput with many connections
 *   http-load                a thousand clients on one hub for a minute
 *   memory                   memory of a hub under a steady load, and what grows
 *   due                      when a hub carries out what falls due, and 10,000 timers in one second
 *   driver                   PostgreSQL drivers
 *   against                  this source tree compared with another commit: append, cycle, delivery
 */
import { runAgainst } from "./against/main.ts";
import { runContext } from "./context/main.ts";
import { runDelivery } from "./delivery/main.ts";
import { runDriver } from "./driver.ts";
import { runDue } from "./due/main.ts";
import { runFoundation } from "./foundation.ts";
import { runGrowth } from "./growth.ts";
import { runHttpLoad } from "./http/load.ts";
import { runHttp } from "./http/main.ts";
import { runMemory } from "./memory/main.ts";
import { runRecall } from "./recall/main.ts";
import { runShared } from "./shared/main.ts";
import { runStartup } from "./startup/main.ts";

const args = process.argv.slice(2);
const at = args.findIndex((arg) => arg === "--only" || arg.startsWith("--only="));
const only = args[at]?.split("=")[1] ?? args[at + 1];

if (at >= 0 && only === "delivery") await runDelivery(args);
else if (at >= 0 && only === "growth") await runGrowth(args);
else if (at >= 0 && only === "recall") await runRecall(args);
else if (at >= 0 && only === "context") await runContext(args);
else if (at >= 0 && only === "shared") await runShared(args);
else if (at >= 0 && only === "startup") await runStartup(args);
else if (at >= 0 && only === "http") await runHttp(args);
else if (at >= 0 && only === "http-load") await runHttpLoad(args);
else if (at >= 0 && only === "memory") await runMemory(args);
else if (at >= 0 && only === "due") await runDue(args);
else if (at >= 0 && only === "driver") await runDriver(args);
else if (at >= 0 && only === "against") await runAgainst(args);
else await runFoundation(args);

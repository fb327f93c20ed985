/**
 * `npm run bench`: one command for every benchmark. What `--only` names decides which:
 *
 *   append, cycle, million   Baton on SQLite against the raw engine (the default)
 *   delivery                 Baton on SQLite and PostgreSQL against queues and raw engines
 *   growth                   what delivery costs with a long history, a long inbox, many receivers
 *   recall                   what recalling costs, by the size of the store
 *   context                  what composing a receiver's view costs, and where the time goes
 *   shared                   what reading the shared context costs, with a long history behind it
 *   startup                  what starting the command line and its hooks takes, against Node itself
 *   http                     what HTTP adds to an operation, and what many connections leave of the rate
 *   http-load                a thousand clients on one hub for a minute
 *   driver                   drivers for PostgreSQL
 *   against                  these sources against another commit's: append, cycle, delivery
 */
import { runAgainst } from "./against/main.ts";
import { runContext } from "./context/main.ts";
import { runDelivery } from "./delivery/main.ts";
import { runDriver } from "./driver.ts";
import { runFoundation } from "./foundation.ts";
import { runGrowth } from "./growth.ts";
import { runHttpLoad } from "./http/load.ts";
import { runHttp } from "./http/main.ts";
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
else if (at >= 0 && only === "driver") await runDriver(args);
else if (at >= 0 && only === "against") await runAgainst(args);
else await runFoundation(args);

/** Progress on a task's ledger: in the ledger itself, and with the work of a later receiver. */
import * as z from "zod";
import type { LedgerProgress } from "../../ledger/ledger.ts";
import { Instant, Text } from "./common.ts";
import type { Fields } from "./fields.ts";

export const ProgressForm = z
  .strictObject({
    task: Text.meta({ description: "The task in whose ledger it is kept" }),
    at: Instant,
    by: Text,
    envelope: Text.meta({ description: "The envelope that reported it" }),
    record: Text.exactOptional(),
    id: Text.meta({ description: "By which it is released" }),
    kind: z.enum(["blocked", "doNotRedo", "done"]),
    on: Text.exactOptional().meta({ description: "Of a blocker: what it waits for" }),
    path: Text.meta({ description: "Its place in the envelope, such as done[2]" }),
    text: Text,
  } satisfies Fields<LedgerProgress>)
  .meta({ id: "Progress", description: "What is done, not to be redone, or blocked." });

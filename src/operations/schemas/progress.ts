/** Zod schema for progress on a task's ledger, used in the ledger and in the work of later receivers. */
import * as z from "zod";
import type { LedgerProgress } from "../../ledger/ledger.ts";
import { Instant, Text } from "./common.ts";
import type { Fields } from "./fields.ts";

export const ProgressForm = z
  .strictObject({
    task: Text.meta({ description: "The task that has it on its ledger" }),
    at: Instant,
    by: Text,
    envelope: Text.meta({ description: "The envelope that reported it" }),
    record: Text.exactOptional(),
    id: Text.meta({ description: "The id to release it by" }),
    kind: z.enum(["blocked", "doNotRedo", "done"]),
    on: Text.exactOptional().meta({ description: "What a blocked item waits for" }),
    path: Text.meta({ description: "Its place in the envelope, such as done[2]" }),
    text: Text,
  } satisfies Fields<LedgerProgress>)
  .meta({ id: "Progress", description: "What is done, not to be redone, or blocked." });

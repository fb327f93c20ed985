/** The tool `read` returns memories and handoffs by id, a memory in its newest version. */
import * as z from "zod";
import { type BatonError, isBatonError } from "../../base/errors.ts";
import type { DetailLevel } from "../../envelope/schema.ts";
import { quoteText } from "../../text/fence.ts";
import { handoffText, isHandoffId, recordText, type TokenBudget } from "../records.ts";
import { fitItems, type Item, tokenCounterFor } from "../token-budget.ts";
import { type Connection, detail, maxTokens, READ_ONLY, Text, tool, workHandle } from "../tool.ts";

const MAX_IDS = 20;
const SUMMARY: readonly DetailLevel[] = ["summary"];

/** Reads up to 20 records. */
export const read = tool({
  name: "read",
  title: "Read",
  description:
    "Reads memories (mem_…), handoffs (dlv_…) and parts of an envelope (env_…#payload) by id. For a memory that was replaced you get the current one, with a note of which it replaces. With the handle of work you hold, also by the short ids in its text.",
  input: z.strictObject({
    ids: z.array(z.string().min(1)).min(1).max(MAX_IDS).describe("What to read."),
    handle: workHandle("The work that shows these short ids.").optional(),
    detail: detail("detailed"),
    max_tokens: maxTokens(4_000),
  }),
  output: z.strictObject({
    text: Text,
    read: z.array(z.string()).describe("The ids that are shown."),
    omitted: z
      .array(z.string())
      .describe("Ids that did not fit: read each alone, or raise max_tokens."),
    failed: z
      .array(z.strictObject({ id: z.string(), code: z.string() }))
      .describe("Ids that could not be read, and why."),
  }),
  annotations: READ_ONLY,

  async run({ ids, detail: much, max_tokens, handle }, connection) {
    const budget = { meter: await tokenCounterFor(connection.agent), tokens: max_tokens };
    const found = await Promise.all(
      ids.map((id) => readOne(connection, id, { much, handle, budget })),
    );
    const items = found.flatMap((each) => ("text" in each ? [each] : []));
    const failed = found.flatMap((each) => ("error" in each ? [each] : []));
    const [first] = failed;
    if (items.length === 0 && first !== undefined) throw first.error;
    const more = "Read each alone, or with a larger max_tokens.";
    const page = { items, none: "", more };
    const { text, shown, omitted } = fitItems(page, budget.meter, max_tokens);
    const problems = failed.map(
      ({ id, error }) => `${quoteText(id)} cannot be read: ${error.code}.`,
    );
    return {
      text: [text, ...problems].join("\n"),
      read: [...shown],
      omitted: [...omitted],
      failed: failed.map(({ id, error }) => ({ id, code: error.code })),
    };
  },
});

interface ReadRequest {
  readonly much: "concise" | "detailed";
  readonly handle: string | undefined;
  readonly budget: TokenBudget;
}

type ReadOutcome = Item | { readonly id: string; readonly error: BatonError };

async function readOne(
  connection: Connection,
  id: string,
  asked: ReadRequest,
): Promise<ReadOutcome> {
  const { much, handle, budget } = asked;
  try {
    if (isHandoffId(id)) return { id, text: await handoffText(connection, id, much) };
    const levels = much === "concise" ? { levels: SUMMARY } : {};
    return { id, text: await recordText(connection, id, { handle, budget, ...levels }) };
  } catch (error) {
    if (isBatonError(error)) return { id, error };
    throw error;
  }
}

/**
 * Lint rule `oversize`: a handoff that takes much of the receiver's budget leaves little for what it
 * references, and a large payload is sent again with every hop.
 */
import { canonicalJson } from "../../base/digest.ts";
import { roleProfile } from "../../profiles/workspace-profiles.ts";
import { tokenizerFor } from "../../text/tokens.ts";
import { budgetOf } from "../view/budget.ts";
import { addressedReceiver } from "../view/receiver.ts";
import { textsOf } from "./handoff-content.ts";
import type { LintRule, LintSubject, Remark } from "./rule.ts";

/** Share of the receiver's budget; the rest is for pins, references and shared knowledge. */
const SHARE = 0.5;
/** Largest canonical size of a payload in bytes, a few pages: anything larger is a document. */
const PAYLOAD_BYTES = 16 * 1024;

/** Reports handoffs over half of the receiver's budget, and payloads over 16 KB. */
export const oversize: LintRule = {
  level: "warn",
  meaning: "The handoff takes more than half of the receiver's budget, or has a large payload",

  read: largePayload,
  query: checkTextLength,
};

async function checkTextLength(subject: LintSubject): Promise<Remark[]> {
  const { budget, model } = await receiverBudgetOf(subject);
  const most = Math.floor(budget * SHARE);
  const text = textsOf(subject.letter)
    .map((each) => each.text)
    .join("\n");
  // A token has at least one byte: a short text need not be counted.
  if (Buffer.byteLength(text) <= most) return [];
  const { count } = await tokenizerFor(model);
  const tokens = count(text);
  if (tokens <= most) return [];
  return [
    {
      path: "",
      message: `The handoff alone takes ${tokens} tokens, more than half of the receiver's budget of ${budget}`,
      hint: "Move long texts into memories, and refer to them with a summary.",
    },
  ];
}

/** Only the amount matters here, not the precision of the count. */
const EXACT_TOKENIZER = { name: "o200k_base", exact: true, margin: 0 } as const;

/** Returns the token budget of the receiver's view. */
async function receiverBudgetOf({ workspace, letter, to }: LintSubject) {
  const receiver = to && (await addressedReceiver(workspace, to));
  const { tokens } = budgetOf({
    tokens: undefined,
    envelope: letter.budget?.tokens,
    profile: await roleProfile(workspace, receiver?.role),
    receiver: receiver ?? { window: undefined },
    tokenizer: EXACT_TOKENIZER,
  });
  return { budget: tokens, model: receiver?.model };
}

function largePayload({ letter: { payload } }: LintSubject): Remark[] {
  if (payload === undefined) return [];
  const bytes = Buffer.byteLength(canonicalJson(payload, "invalid_envelope", "payload"));
  if (bytes <= PAYLOAD_BYTES) return [];
  return [
    {
      path: "payload",
      message: `payload: has ${bytes} bytes (recommended maximum: ${PAYLOAD_BYTES})`,
      hint: 'Keep it in a file and refer to it, artifacts: [{ kind: "file", path, digest }], or in a memory.',
    },
  ];
}

/**
 * Too large: a handoff that takes much of the receiver's budget leaves little for what it refers to,
 * and a large payload travels again with every hop.
 */
import { canonicalJson } from "../../base/digest.ts";
import { roleProfile } from "../../profiles/workspace-profiles.ts";
import { tokenizerFor } from "../../text/tokens.ts";
import { budgetOf } from "../view/budget.ts";
import { addressedReceiver } from "../view/receiver.ts";
import { textsOf } from "./handoff-content.ts";
import type { LintRule, LintSubject, Remark } from "./rule.ts";

/** Of the receiver's budget: the rest is for pins, references and what the team knows. */
const SHARE = 0.5;
/** Canonical bytes of a payload, a few pages: more is a document. */
const PAYLOAD_BYTES = 16 * 1024;

export const oversize: LintRule = {
  level: "warn",
  meaning: "It takes more than half of the receiver's budget, or has a large payload",

  read: largePayload,
  query: checkTextLength,
};

async function checkTextLength(subject: LintSubject): Promise<Remark[]> {
  const { budget, model } = await receiverBudgetOf(subject);
  const most = Math.floor(budget * SHARE);
  const text = textsOf(subject.letter)
    .map((each) => each.text)
    .join("\n");
  // No token is shorter than a byte: short ones need not be counted.
  if (Buffer.byteLength(text) <= most) return [];
  const { count } = await tokenizerFor(model);
  const tokens = count(text);
  if (tokens <= most) return [];
  return [
    {
      path: "",
      message: `The handoff takes ${tokens} tokens by itself, more than half of the receiver's ${budget}`,
      hint: "Put what is long into memories, and refer to them with a summary.",
    },
  ];
}

/** Only how much there is matters here, not how well it can be counted. */
const EXACT_TOKENIZER = { name: "o200k_base", exact: true, margin: 0 } as const;

/** What the receiver's view may take. */
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
      message: `payload: has ${bytes} bytes`,
      hint: 'Keep it in a file and name it, artifacts: [{ kind: "file", path, digest }], or in a memory.',
    },
  ];
}

/** Questions that receivers ask their senders, and the answers, which become part of the envelope. */
import { clip } from "../../base/clip.ts";
import { BatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { reseal } from "../../envelope/seal.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { answerEntryText } from "../../history/earlier-attempts.ts";
import { readOutcome } from "../../history/outcome.ts";
import { parseDeliveryId, unknownDelivery } from "../../history/unknown-delivery.ts";
import { refreshCarriedFields } from "../../ledger/reseal.ts";
import type { Author } from "../../memory/record.ts";
import {
  runWithoutSecrets,
  type WithSecrets,
  withSecrets,
} from "../../memory/redaction/secret-policy.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import type { DeliveryWithEnvelopeRow } from "../../store/store.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import {
  decisionRecord,
  guardOf,
  moveDeliveries,
  newEnvelopeOf,
  trailStepOf,
} from "../due/moves.ts";
import { lapse } from "../settings/policy.ts";
import { checkReason } from "./reason.ts";

/** A question that waits for an answer. */
export interface OpenQuestion {
  readonly delivery: Delivery;
  readonly envelope: Envelope;
  readonly question: string;
}

/** Returns the open questions to a sender, at most one page. */
export async function listQuestions(workspace: Workspace, sender: string): Promise<OpenQuestion[]> {
  const { store, name, limits } = workspace;
  const waiting = await store.listParked({
    workspace: name,
    state: "waiting",
    sender,
    limit: limits.pageSize,
  });
  return Promise.all(
    waiting.map(async ({ delivery, envelope }) => {
      const ended = await readOutcome(workspace, delivery);
      const question = ended.kind === "asked" ? ended.question : "";
      return {
        delivery: deliveryOf(delivery),
        envelope: parseEnvelope(workspace, envelope),
        question,
      };
    }),
  );
}

/** Answers a question: adds the answer to the history and offers the work again, at its place in line. */
export function answer(
  workspace: Workspace,
  by: Author,
  id: string,
  text: string,
): Promise<WithSecrets<Delivery>> {
  return runWithoutSecrets(workspace, { answer: text }, async (redacted, secrets) =>
    withSecrets(deliveryOf(await answerWith(workspace, by, id, redacted.answer)), secrets),
  );
}

async function answerWith(
  workspace: Workspace,
  by: Author,
  id: string,
  text: string,
): Promise<DeliveryRow> {
  const said = checkReason(text, "answer");
  return retryWrite({ what: "The answer was overtaken", attempts: 10 }, async () => {
    const found = await workspace.store.findDelivery(workspace.name, parseDeliveryId(id));
    if (found === undefined) throw unknownDelivery(id);
    if (found.delivery.state !== "waiting") throw notAsked(found.delivery);
    const [moved] = (await answerOne(workspace, by, found, said)) ?? [];
    return moved ?? RETRY;
  });
}

async function answerOne(
  workspace: Workspace,
  by: Author,
  asked: DeliveryWithEnvelopeRow,
  text: string,
) {
  const { delivery, envelope: row } = asked;
  const { ids, clock } = workspace;
  const from = parseEnvelope(workspace, row);
  const ended = await readOutcome(workspace, delivery);
  const question = ended.kind === "asked" ? ended.question : "";
  const id = ids.mint("memory");
  const sealed = reseal(
    from,
    {
      ...(await refreshCarriedFields(workspace, from)),
      id: ids.mint("envelope"),
      parents: [from.id],
      history: [
        ...from.history,
        answerEntry({ agent: by.agent, record: id }, question, text),
      ].slice(-FORMAT_LIMITS.listItems),
      metadata: { ...from.metadata, createdAt: clock.now() },
    },
    workspace,
  );
  const record = {
    id,
    type: "decision",
    task: from.task,
    content: `${by.agent} answered: ${text}`,
    data: { answer: text, question },
    relations: [{ kind: "continues-from" as const, to: delivery.settledBy }],
  };
  const trail = [trailStepOf(delivery, "answer")];
  return moveDeliveries(workspace, {
    agent: by.agent,
    memory: decisionRecord(workspace, by, record, { trail, sealed }),
    envelope: newEnvelopeOf(sealed),
    moves: [
      {
        delivery: delivery.id,
        seen: guardOf(delivery),
        to: "ready",
        event: "answered",
        lapseMs: lapse(from.policy, 0),
      },
    ],
  });
}

const answerEntry = (
  { agent, record }: { readonly agent: string; readonly record: string },
  question: string,
  text: string,
): Envelope["history"][number] => ({
  agent,
  // A long answer is clipped here; the record contains all of it.
  ref: record,
  decided: clip(text, FORMAT_LIMITS.lineLength),
  did: answerEntryText(question),
});

function notAsked({ id, state }: DeliveryRow): BatonError {
  return new BatonError("not_open", {
    message: `${id} does not wait for an answer: it is ${state}.`,
    path: "delivery",
    hint: "List the open questions: agent.questions.list().",
    details: { delivery: id, state },
  });
}

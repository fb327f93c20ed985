/** Questions of receivers to their senders, and the answers, which go along with the work. */
import { clip } from "../../base/clip.ts";
import { BatonError } from "../../base/errors.ts";
import { FORMAT_LIMITS } from "../../base/limits.ts";
import type { Envelope } from "../../envelope/schema.ts";
import { resealed } from "../../envelope/seal.ts";
import { type Delivery, deliveryOf } from "../../history/delivery.ts";
import { answerTo } from "../../history/earlier-attempts.ts";
import { endedAs } from "../../history/outcome.ts";
import { deliveryId, unknownDelivery } from "../../history/unknown-delivery.ts";
import { carriedNow } from "../../ledger/recarry.ts";
import type { Author } from "../../memory/record.ts";
import { hear, type Told, told } from "../../memory/redaction/secret-policy.ts";
import { parseEnvelope } from "../../store/parse-envelope.ts";
import type { DeliveryRow } from "../../store/rows.ts";
import type { Claimed } from "../../store/store.ts";
import { RETRY, retryWrite } from "../../workspace/retry.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { decisionRecord, moveDeliveries, rowOf, seen, stepOf } from "../due/moves.ts";
import { lapse } from "../settings/policy.ts";
import { checkedReason } from "./reason.ts";

/** A question that waits for an answer. */
export interface Asked {
  readonly delivery: Delivery;
  readonly envelope: Envelope;
  readonly question: string;
}

export async function questionsTo(workspace: Workspace, sender: string): Promise<Asked[]> {
  const { store, name, limits } = workspace;
  const waiting = await store.listParked({
    workspace: name,
    state: "waiting",
    sender,
    limit: limits.pageSize,
  });
  return Promise.all(
    waiting.map(async ({ delivery, envelope }) => {
      const ended = await endedAs(workspace, delivery);
      const question = ended.kind === "asked" ? ended.question : "";
      return {
        delivery: deliveryOf(delivery),
        envelope: parseEnvelope(workspace, envelope),
        question,
      };
    }),
  );
}

/** The answer becomes part of the history, and the work is offered again, at its place in line. */
export function answer(
  workspace: Workspace,
  by: Author,
  id: string,
  text: string,
): Promise<Told<Delivery>> {
  return hear(workspace, { answer: text }, async (said, secrets) =>
    told(deliveryOf(await answerWith(workspace, by, id, said.answer)), secrets),
  );
}

async function answerWith(
  workspace: Workspace,
  by: Author,
  id: string,
  text: string,
): Promise<DeliveryRow> {
  const said = checkedReason(text, "answer");
  return retryWrite({ what: "The answer was overtaken", attempts: 10 }, async () => {
    const found = await workspace.store.findDelivery(workspace.name, deliveryId(id));
    if (found === undefined) throw unknownDelivery(id);
    if (found.delivery.state !== "waiting") throw notAsked(found.delivery);
    const [moved] = (await answerOne(workspace, by, found, said)) ?? [];
    return moved ?? RETRY;
  });
}

async function answerOne(workspace: Workspace, by: Author, asked: Claimed, text: string) {
  const { delivery, envelope: row } = asked;
  const { ids, clock } = workspace;
  const from = parseEnvelope(workspace, row);
  const ended = await endedAs(workspace, delivery);
  const question = ended.kind === "asked" ? ended.question : "";
  const id = ids.mint("memory");
  const sealed = resealed(
    from,
    {
      ...(await carriedNow(workspace, from)),
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
    content: `${by.agent} answers: ${text}`,
    data: { answer: text, question },
    relations: [{ kind: "continues-from" as const, to: delivery.settledBy }],
  };
  const trail = [stepOf(delivery, "answer")];
  return moveDeliveries(workspace, {
    agent: by.agent,
    memory: decisionRecord(workspace, by, record, { trail, sealed }),
    envelope: rowOf(sealed),
    moves: [
      {
        delivery: delivery.id,
        seen: seen(delivery),
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
  // A long answer is cut here; the record has all of it.
  ref: record,
  decided: clip(text, FORMAT_LIMITS.lineLength),
  did: answerTo(question),
});

function notAsked({ id, state }: DeliveryRow): BatonError {
  return new BatonError("not_open", {
    message: `${id} waits for no answer: it is ${state}.`,
    path: "delivery",
    hint: "agent.questions.list() lists what was asked and not answered.",
    details: { delivery: id, state },
  });
}

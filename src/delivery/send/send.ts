/**
 * Sends a handoff: plans and prepares it, and stores handoff record, envelope, deliveries and events in one
 * operation. Sending the same work again extends it; sending again with the same key returns the original.
 */

import { enforceLintRules } from "../../context/lint/lint-settings.ts";
import type { DraftOf } from "../../envelope/schema.ts";
import {
  redactSecretsAfterwards,
  runWithoutSecrets,
  withSecrets,
} from "../../memory/redaction/secret-policy.ts";
import { SYSTEM } from "../../memory/system-author.ts";
import type { LeaseRefusal } from "../../store/store.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { findKeyEntry, type SentHandoff } from "./idempotency-key.ts";
import { withInboxCapacity } from "./inbox-capacity.ts";
import {
  type AdmittedHandoff,
  PendingHandoff,
  readSentBefore,
  refuseClosedTask,
} from "./pending-handoff.ts";
import { planHandoff, type Sender, type SendOptions } from "./plan.ts";
import { requireRegistered } from "./require-registered.ts";

/**
 * Sends a handoff, after applying the secret policy. Returns the refusal if the lease of the sender's work
 * was lost or the work was extended; throws for every other refusal.
 */
export async function sendHandoff<T>(
  workspace: Workspace,
  sender: Sender,
  draft: DraftOf<T>,
  sending: SendOptions = {},
): Promise<SentHandoff<T> | LeaseRefusal> {
  // The hub repeats what agents wrote before and must not be refused: it redacts without refusing.
  if (sender.agent === SYSTEM) {
    return planAndSend(workspace, sender, await redactSecretsAfterwards(workspace, draft), sending);
  }
  return runWithoutSecrets(workspace, draft, (redactedDraft, redacted) =>
    runWithoutSecrets(
      workspace,
      { result: sending.completes },
      async ({ result: completes }, inResult) => {
        const secrets = [...redacted, ...inResult];
        const sent = await planAndSend(workspace, sender, redactedDraft, {
          ...sending,
          completes,
          redacted,
        });
        return sent.kind === "sent" ? withSecrets(sent, secrets) : sent;
      },
    ),
  );
}

async function planAndSend<T>(
  workspace: Workspace,
  sender: Sender,
  draft: DraftOf<T>,
  sending: SendOptions,
): Promise<SentHandoff<T> | LeaseRefusal> {
  const admitted = await admit<T>(workspace, sender, draft, sending);
  if ("kind" in admitted) return admitted;
  const { plan } = admitted;
  const [inbox] = plan.inboxes;
  const send = () => sendAdmitted<T>(workspace, sender, admitted);
  if (plan.to.kind === "channel" || inbox === undefined) return send(); // A full inbox must not block others.
  return withInboxCapacity(workspace, inbox, send);
}

/**
 * Plans a handoff and checks it. Returns the original handoff if its key was used before; throws for every
 * fault that can be found without sending.
 */
export async function admit<T>(
  workspace: Workspace,
  sender: Sender,
  draft: DraftOf<T>,
  sending: SendOptions,
): Promise<AdmittedHandoff | SentHandoff<T>> {
  const plan = await planHandoff(workspace, sender, draft, sending);
  // For work that is handed on, the lease is checked first; what it releases is off the ledger by then.
  const isAsked = sender.work === undefined || plan.draft.releases.length > 0;
  const used = isAsked ? await findKeyEntry(workspace, sender, plan) : undefined;
  if (used !== undefined) return readSentBefore(workspace, plan, used);
  refuseClosedTask(plan);
  await requireRegistered(workspace, sender, plan);
  return { plan, rules: await enforceLintRules(workspace, sender, plan) };
}

async function sendAdmitted<T>(
  workspace: Workspace,
  sender: Sender,
  admitted: AdmittedHandoff,
): Promise<SentHandoff<T> | LeaseRefusal> {
  const pending = await PendingHandoff.begin<T>(workspace, sender, admitted);
  for (;;) {
    const prepared = await pending.prepare();
    const outcome = await workspace.store.sendHandoff(prepared.operation);
    if (outcome.kind === "sent") return pending.sent(prepared, outcome);
    const answer = await pending.adapt(outcome);
    if (answer !== undefined) return answer;
  }
}

/**
 * `batonpass/client` for Node 20 and newer: opens hubs over HTTP without loading a store or a local hub.
 * Other runtimes load browser.ts instead (package.json, `exports`). Types that are reachable only through a
 * method are not exported.
 */
import type { Hub } from "../hub/hub.ts";
import type { HubOptions } from "../hub/options.ts";
import { nodeModules } from "./node/modules.ts";
import { openRemoteHub } from "./open.ts";

export { BatonError, type ErrorCode, isBatonError, type Violation } from "../base/errors.ts";
export type { Page } from "../base/page.ts";
export type { CatchUp, CatchUpQuery } from "../coordination/catch-up/catch-up.ts";
export type {
  DecideResult,
  Decision,
} from "../coordination/failures/decision.ts";
export type { Receipt } from "../delivery/receive/receipt.ts";
export type { AcceptOptions, InboxOptions } from "../delivery/receive/receive-options.ts";
export type { Result } from "../delivery/send/result.ts";
export type { Failure } from "../delivery/settle/settle.ts";
export type {
  AcceptedOutcome,
  CompletedOutcome,
} from "../delivery/watch/await-outcome.ts";
export type { DeliveryDetails } from "../delivery/watch/delivery-details.ts";
export type { DeliveryWithEnvelope } from "../delivery/watch/inbox-listing.ts";
export type { WaitOptions } from "../delivery/watch/wait-options.ts";
export type { NoteResult } from "../delivery/work/note.ts";
export type { OnceResult } from "../delivery/work/once.ts";
export type { ReadMemory } from "../delivery/work/read-record.ts";
export type { ShownView } from "../delivery/work/views.ts";
export type { Warning } from "../delivery/work/warnings.ts";
export type { JsonSchema } from "../envelope/json-schema.ts";
export type { PayloadType } from "../envelope/payload-types.ts";
export type { Draft, DraftOf, Envelope, EnvelopeOf, PolicyInput } from "../envelope/schema.ts";
export type { StandardSchemaV1 } from "../envelope/standard-schema.ts";
export type { Delivery, HeldDelivery } from "../history/delivery.ts";
export type { HubEvent } from "../history/event.ts";
export type { DeliveryOutcome, HandoffResult } from "../history/outcome.ts";
export type { Agent } from "../hub/agent.ts";
export type { Settings, SettingsInput } from "../hub/groups/settings.ts";
export type { Hub } from "../hub/hub.ts";
export type { Offer } from "../hub/offer.ts";
export type { SessionOptions } from "../hub/option-checks.ts";
export type { Sent } from "../hub/sent.ts";
export type { SettleResult, Work } from "../hub/work.ts";
export type { Ledger } from "../ledger/ledger.ts";
export type { AgentInfo, AgentProfile } from "../memory/agents.ts";
export type { Hit, RecallQuery, RecallResult } from "../memory/recall/recall.ts";
export type { RememberResult } from "../memory/recall/remember-checked.ts";
export type { Memory, MemoryInput } from "../memory/record.ts";
export type { SqlOptions, SqlResult } from "../memory/sql.ts";
export type { TraceStep } from "../memory/traces/trace.ts";
export type { ContextInput, ContextItem, ContextSection } from "../shared-context/items.ts";
export type { DeliveryState, EventKind } from "../store/rows.ts";

/** Options of `openHub()` for a hub over HTTP. */
export type ClientOptions = Pick<
  HubOptions,
  "fetch" | "files" | "known" | "outageMs" | "sessionMs" | "token" | "workspace"
>;

/** Opens the hub at an `http://` or `https://` address. Throws `hub_unreachable` or `unauthenticated`. */
export function openHub(address: string, options: ClientOptions = {}): Promise<Hub> {
  return openRemoteHub(address, options, nodeModules);
}

/** Zod schemas for audit records. */
import * as z from "zod";
import { AUDIT_KINDS } from "../../memory/audit/audit-record.ts";
import type { AuditEntry } from "../../memory/audit/read-audit.ts";
import { AUDITED_KINDS } from "../../store/audited.ts";
import type { Actor } from "../../workspace/actor.ts";
import { Count, Instant, Text } from "./common.ts";
import type { Fields } from "./fields.ts";

const ActorForm = z
  .strictObject({
    via: z.enum(["http", "hub", "embedded"]).meta({
      description: "embedded: a program or the command line on the store, which knows no callers",
    }),
    agent: Text.optional().meta({ description: "The agent that acted, if the interface knows it" }),
    token: Text.optional().meta({
      description:
        "The id of its token; local, browser or open without an issued one; * for several",
    }),
    access: Text.optional().meta({ description: "The access level of the caller" }),
    address: Text.optional().meta({
      description:
        "Where a caller that did not authenticate called from: loopback, private, public",
    }),
  } satisfies Fields<Actor>)
  .meta({ id: "AuditActor", description: "Who made a call." });

const TargetForm = z
  .strictObject({ kind: z.enum([...AUDITED_KINDS, "agent"]), name: Text })
  .meta({ id: "AuditTarget", description: "What was changed." });

const Digest = Text.optional();

export const AuditEntryForm = z
  .strictObject({
    id: Text,
    seq: Count.meta({ description: "Its number, from 1 without gaps" }),
    at: Instant,
    link: Text.meta({ description: "The hash that links it to the record before" }),
    kind: z.enum(AUDIT_KINDS),
    action: Text.meta({ description: "The operation, such as tokens.add; * for several" }),
    actor: ActorForm,
    target: TargetForm.optional(),
    before: Digest.meta({ description: "Digest of the value before; absent if there was none" }),
    after: Digest.meta({ description: "Digest of the value after; absent if it was deleted" }),
    code: Text.optional().meta({ description: "The error code of a denied call" }),
    count: Count.optional().meta({ description: "How many calls it stands for; absent: one" }),
    from: Instant.optional(),
    until: Instant.optional(),
  } satisfies Fields<AuditEntry>)
  .meta({ id: "AuditEntry", description: "One audit record." });

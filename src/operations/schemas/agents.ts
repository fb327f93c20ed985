/** Agents and tokens, as they are described and answered. */
import * as z from "zod";
import { TokenSchema } from "../../access/issue-token.ts";
import { ACCESS_LEVELS } from "../../access/levels.ts";
import type { IssuedToken, TokenInfo } from "../../access/tokens.ts";
import { PolicyDraft } from "../../envelope/schema.ts";
import type { WhoAmI } from "../../hub/groups/agents.ts";
import { type AgentInfo, AgentProfileSchema } from "../../memory/agents.ts";
import { AGENT_STATUSES } from "../../store/rows.ts";
import { Count, Instant, Text, Texts } from "./common.ts";
import type { Fields } from "./fields.ts";

/** Without a key: that of an agent stays where it is kept. */
export const AgentProfileForm = AgentProfileSchema.omit({ key: true }).meta({
  id: "AgentProfile",
  description: "What is said of an agent; what is not said stays as it is.",
});

export const AgentForm = z
  .strictObject({
    id: Text.meta({ description: "Its canonical id, which never changes" }),
    role: Text.exactOptional(),
    status: z.enum(AGENT_STATUSES),
    aliases: Texts,
    publicKey: Text.exactOptional().meta({
      description: "Ed25519, SPKI in hex; absent for an agent that does not sign",
    }),
    capabilities: Texts.optional(),
    description: Text.optional(),
    kind: z.enum(["agent", "person"]).optional(),
    model: Text.optional(),
    name: Text.optional(),
    owner: Text.optional(),
    policy: PolicyDraft.optional(),
    window: Count.optional(),
  } satisfies Fields<AgentInfo>)
  .meta({ id: "Agent", description: "An agent as the registry knows it." });

export const WhoAmIForm = z
  .strictObject({
    version: Text,
    workspace: Text,
    agent: Text.optional().meta({ description: "Absent: a caller may be any agent" }),
    access: z.enum(ACCESS_LEVELS),
    leaseMs: Count.meta({ description: "How long work may be silent before it goes to the next" }),
  } satisfies Fields<WhoAmI>)
  .meta({ id: "WhoAmI", description: "The identity and access of the caller." });

export const TokenInputForm = TokenSchema.meta({
  id: "NewToken",
  description: "Whom a token stands for (an agent, or * for any), what it may do, until when.",
});

export const TokenForm = z
  .strictObject({
    id: Text,
    state: z.enum(["good", "expired", "revoked"]),
    access: z.enum(ACCESS_LEVELS),
    agent: Text.meta({ description: "A canonical id, or * for any agent" }),
    issuedAt: Instant,
    issuedBy: Text.optional(),
    expiresAt: Instant.optional(),
    label: Text.optional(),
    revokedAt: Instant.optional(),
    revokedBy: Text.optional(),
    reason: Text.optional().meta({ description: "Why it was revoked" }),
  } satisfies Fields<TokenInfo>)
  .meta({ id: "Token", description: "What can be known of a token: never its text." });

export const IssuedTokenForm = z
  .strictObject({
    token: Text.meta({ description: "Its text, shown this once" }),
    info: TokenForm,
  } satisfies Fields<IssuedToken>)
  .meta({ id: "IssuedToken" });

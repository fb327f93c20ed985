/** Zod schemas for agents and access tokens, as HTTP requests and responses carry them. */
import * as z from "zod";
import { TokenSchema } from "../../access/issue-token.ts";
import { ACCESS_LEVELS } from "../../access/levels.ts";
import type { IssuedToken, TokenInfo } from "../../access/tokens.ts";
import { PolicyDraft } from "../../envelope/schema.ts";
import type { WhoAmI } from "../../hub/groups/agents.ts";
import { type AgentInfo, AgentProfileSchema } from "../../memory/agents.ts";
import { AGENT_STATUSES } from "../../store/rows.ts";
import type { AgentKey } from "../../store/verify/key-history.ts";
import { Count, Instant, Text, Texts } from "./common.ts";
import type { Fields } from "./fields.ts";

/** An agent's registration. Has no `key` field: a private key is never sent over HTTP. */
export const AgentProfileForm = AgentProfileSchema.omit({ key: true }).meta({
  id: "AgentProfile",
  description: "The registration of an agent. Omitted fields keep their value.",
});

export const AgentForm = z
  .strictObject({
    id: Text.meta({ description: "Canonical id; never changes" }),
    role: Text.exactOptional(),
    status: z.enum(AGENT_STATUSES),
    aliases: Texts,
    publicKey: Text.exactOptional().meta({
      description: "Ed25519 public key (SPKI, hex); absent if the agent does not sign",
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
  .meta({ id: "Agent", description: "A registered agent." });

export const AgentKeyForm = z
  .strictObject({
    publicKey: Text.meta({ description: "Ed25519, SPKI in hex" }),
    since: Instant,
    until: Instant.exactOptional().meta({ description: "Absent: the current key" }),
    authorizedBy: z.enum(["registration", "previous-key", "admin"]),
    by: Text.exactOptional(),
    revoked: z
      .strictObject({
        at: Instant,
        since: Instant.meta({ description: "From then on, its signatures count for nothing" }),
        by: Text.exactOptional(),
        reason: Text.exactOptional(),
      })
      .exactOptional(),
  } satisfies Fields<AgentKey>)
  .meta({ id: "AgentKey", description: "A signing key of an agent, and when it was valid." });

export const WhoAmIForm = z
  .strictObject({
    version: Text,
    workspace: Text,
    agent: Text.optional().meta({
      description: "The agent that the token acts for; absent if it can act for any agent",
    }),
    access: z.enum(ACCESS_LEVELS),
    leaseMs: Count.meta({
      description: "Lease duration: work without any call for this long is offered to other agents",
    }),
  } satisfies Fields<WhoAmI>)
  .meta({ id: "WhoAmI", description: "The identity and access of the caller." });

export const TokenInputForm = TokenSchema.meta({
  id: "NewToken",
  description: "The agent a token acts for (or * for any), its access level and its expiry.",
});

export const TokenForm = z
  .strictObject({
    id: Text,
    state: z.enum(["good", "expired", "revoked"]),
    access: z.enum(ACCESS_LEVELS),
    agent: Text.meta({ description: "A canonical id, or * for any agent" }),
    issuedAt: Instant,
    issuedBy: Text.optional(),
    expiresAt: Instant.optional().meta({ description: "Absent if it never expires" }),
    lastUsedAt: Instant.optional().meta({ description: "To within five minutes" }),
    label: Text.optional(),
    revokedAt: Instant.optional(),
    revokedBy: Text.optional(),
    reason: Text.optional().meta({ description: "Why it was revoked" }),
  } satisfies Fields<TokenInfo>)
  .meta({ id: "Token", description: "A token's metadata, without its text." });

export const IssuedTokenForm = z
  .strictObject({
    token: Text.meta({ description: "The token itself; returned only in this response" }),
    info: TokenForm,
  } satisfies Fields<IssuedToken>)
  .meta({ id: "IssuedToken" });

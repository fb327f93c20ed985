/**
 * Resources: what a client can show or attach without a tool call. The open inbox, the shared context, the
 * receivers, the rules of handoffs, and every handoff and memory by its id. Reading never consumes.
 */
import {
  type McpServer,
  ProtocolError,
  type ReadResourceResult,
  ResourceNotFoundError,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { type BatonError, ERROR_CODES, isBatonError } from "../base/errors.ts";
import { quoteText } from "../text/fence.ts";
import { receiversOf } from "./receivers.ts";
import { handoffText, readRecord } from "./records.ts";
import { rulesText } from "./rules-text.ts";
import { inboxLine, memoryText } from "./text.ts";
import type { Connection } from "./tool.ts";
import { toolErrorOf } from "./tool-error.ts";

const MIME_TYPE = "text/markdown";
/** Of what waits, so many are listed. */
const MAX_WAITING = 100;
/** So many receivers are listed. */
const MAX_RECEIVERS = 200;
/** How many records are looked through for an id that is being typed. */
const MAX_RECENT = 100;
/** Room for the shared context, in tokens. */
const CONTEXT_TOKENS = 8_000;

export function registerResources(server: McpServer, connection: Connection): void {
  const { agent } = connection;

  server.registerResource(
    "inbox",
    "baton://inbox",
    {
      title: "Open inbox",
      description:
        "Handoffs that wait for you or your role, or are under way. Looking takes nothing out.",
      mimeType: MIME_TYPE,
    },
    (uri) => readResource(uri, () => inboxText(connection)),
  );

  server.registerResource(
    "context",
    "baton://context",
    {
      title: "Shared context",
      description: "What the team agreed on: constraints, conventions, decisions, the project.",
      mimeType: MIME_TYPE,
    },
    (uri) =>
      readResource(uri, async () => {
        const { text } = await agent.context.text({ tokens: CONTEXT_TOKENS });
        return text === "" ? "The team has not agreed on anything yet." : text;
      }),
  );

  server.registerResource(
    "agents",
    "baton://agents",
    {
      title: "Receivers",
      description: "Who can receive a handoff: roles, channels and agents, each with its address.",
      mimeType: MIME_TYPE,
    },
    (uri) => readResource(uri, () => receiversText(connection)),
  );
  server.registerResource(
    "handoff-rules",
    "baton://handoff-rules",
    {
      title: "Handoff rules",
      description: "Registered payload types with their JSON Schemas, and the allowed actions.",
      mimeType: MIME_TYPE,
    },
    (uri) => readResource(uri, () => rulesText(connection.hub)),
  );

  server.registerResource(
    "handoff",
    new ResourceTemplate("baton://handoff/{id}", {
      list: async () => ({ resources: await openHandoffs(connection) }),
      complete: {
        id: async (typed) => {
          const open = (await agent.deliveries.waiting({ limit: MAX_WAITING })).items;
          return open.map(({ delivery }) => delivery.id).filter((id) => id.startsWith(typed));
        },
      },
    }),
    {
      title: "Handoff",
      description:
        "One handoff by its id (dlv_…): what was sent, where it stands, what came of it.",
      mimeType: MIME_TYPE,
    },
    (uri, { id }) => readResource(uri, () => handoffText(connection, String(id), "detailed")),
  );

  server.registerResource(
    "memory",
    new ResourceTemplate("baton://memory/{id}", {
      list: undefined,
      complete: {
        id: async (typed) => {
          const recent = (await agent.memories.recent({ limit: MAX_RECENT })).items;
          return recent.map(({ id }) => id).filter((id) => id.startsWith(typed));
        },
      },
    }),
    {
      title: "Memory",
      description: "One memory by its id (mem_…), in full; what holds now, where it was replaced.",
      mimeType: MIME_TYPE,
    },
    (uri, { id }) =>
      readResource(uri, async () => {
        const memory = await readRecord(connection, String(id), { level: "full" });
        return memoryText(memory, memory.text ?? "");
      }),
  );
}

async function inboxText({ agent }: Connection): Promise<string> {
  const open = (await agent.deliveries.waiting({ limit: MAX_WAITING })).items;
  if (open.length === 0) return "Nothing waits for you.";
  const more = open.length === MAX_WAITING ? ["(There may be more: accept some first.)"] : [];
  return [...open.map(inboxLine), ...more].join("\n");
}

async function receiversText(connection: Connection): Promise<string> {
  const receivers = await receiversOf(connection);
  const left = receivers.length - MAX_RECEIVERS;
  const more = left > 0 ? [`(${left} more: page through them with the tool agents.)`] : [];
  return [...receivers.slice(0, MAX_RECEIVERS).map(({ text }) => text), ...more].join("\n");
}

async function openHandoffs({ agent }: Connection) {
  const open = (await agent.deliveries.waiting({ limit: MAX_WAITING })).items;
  return open.map(({ delivery: { id, task, sender, state } }) => ({
    uri: `baton://handoff/${id}`,
    name: id,
    title: `${quoteText(task)}, from ${sender}`,
    description: `The handoff of ${quoteText(task)} from ${sender}: ${state}.`,
  }));
}

/** What there is no record of is no resource; anything else is told as it is everywhere. */
async function readResource(uri: URL, text: () => Promise<string>): Promise<ReadResourceResult> {
  try {
    return { contents: [{ uri: uri.href, mimeType: MIME_TYPE, text: await text() }] };
  } catch (error) {
    if (!isBatonError(error)) throw error;
    throw protocolErrorOf(error, uri);
  }
}

const NOT_FOUND = 404;

function protocolErrorOf(error: BatonError, uri: URL): ProtocolError {
  const { http, jsonRpc } = ERROR_CODES[error.code];
  const told = toolErrorOf(error);
  if (http === NOT_FOUND || error.code === "invalid_input") {
    return new ResourceNotFoundError(uri.href, told.message);
  }
  return new ProtocolError(jsonRpc, told.message, told);
}

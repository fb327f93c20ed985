/**
 * The MCP resources, which a client can show or attach without a tool call: the open inbox, the shared
 * context, the receivers, the handoff rules, and every handoff and memory by id. Reading claims nothing.
 */
import {
  type McpServer,
  ProtocolError,
  type ReadResourceResult,
  ResourceNotFoundError,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { type BatonError, ERROR_CODES, isBatonError } from "../base/errors.ts";
import { drawBoundary, quoteText } from "../text/fence.ts";
import { receiversOf } from "./receivers.ts";
import { handoffText, readRecord } from "./records.ts";
import { rulesText } from "./rules-text.ts";
import { inboxLine, memoryText } from "./text.ts";
import { type Connection, shownText } from "./tool.ts";
import { numberedError } from "./tool-error.ts";

const MIME_TYPE = "text/markdown";
/** How many waiting deliveries are listed. */
const MAX_WAITING = 100;
/** How many receivers are listed. */
const MAX_RECEIVERS = 200;
/** How many recent memories are searched to complete an id. */
const MAX_RECENT = 100;
/** Token budget of the shared context. */
const CONTEXT_TOKENS = 8_000;

/** Registers the resources on a server. */
export function registerResources(server: McpServer, connection: Connection): void {
  const { agent } = connection;

  server.registerResource(
    "inbox",
    "baton://inbox",
    {
      title: "Open inbox",
      description: "Handoffs waiting for you or your role, or in progress. Reading claims nothing.",
      mimeType: MIME_TYPE,
    },
    (uri) => readResource(connection, uri, () => inboxText(connection)),
  );

  server.registerResource(
    "context",
    "baton://context",
    {
      title: "Shared context",
      description: "What the team agreed on: constraints, conventions, decisions, project facts.",
      mimeType: MIME_TYPE,
    },
    (uri) =>
      readResource(connection, uri, async () => {
        const { text } = await agent.context.text({ tokens: CONTEXT_TOKENS });
        return text === "" ? "The shared context is empty." : text;
      }),
  );

  server.registerResource(
    "agents",
    "baton://agents",
    {
      title: "Receivers",
      description:
        "Possible receivers of a handoff: roles, channels and agents, each with its address.",
      mimeType: MIME_TYPE,
    },
    (uri) => readResource(connection, uri, () => receiversText(connection)),
  );
  server.registerResource(
    "handoff-rules",
    "baton://handoff-rules",
    {
      title: "Handoff rules",
      description: "Registered payload types with their JSON Schemas, and the allowed actions.",
      mimeType: MIME_TYPE,
    },
    (uri) => readResource(connection, uri, () => rulesText(connection.hub)),
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
      description: "One handoff by its id (dlv_…): its content, state and result.",
      mimeType: MIME_TYPE,
    },
    (uri, { id }) =>
      readResource(connection, uri, () => handoffText(connection, String(id), "detailed")),
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
      description: "One memory by its id (mem_…), in full; if it was replaced, the current one.",
      mimeType: MIME_TYPE,
    },
    (uri, { id }) =>
      readResource(connection, uri, async () => {
        const memory = await readRecord(connection, String(id), { level: "full" });
        return memoryText(memory, memory.text ?? "");
      }),
  );
}

async function inboxText({ agent }: Connection): Promise<string> {
  const open = (await agent.deliveries.waiting({ limit: MAX_WAITING })).items;
  if (open.length === 0) return "Nothing waits for you.";
  const more = open.length === MAX_WAITING ? ["(There may be more. Accept some first.)"] : [];
  return [...open.map(inboxLine), ...more].join("\n");
}

async function receiversText(connection: Connection): Promise<string> {
  const receivers = await receiversOf(connection);
  const left = receivers.length - MAX_RECEIVERS;
  const more = left > 0 ? [`(${left} more. Call the tool agents to page through them.)`] : [];
  return [...receivers.slice(0, MAX_RECEIVERS).map(({ text }) => text), ...more].join("\n");
}

async function openHandoffs(connection: Connection) {
  const { agent } = connection;
  const open = (await agent.deliveries.waiting({ limit: MAX_WAITING })).items;
  return open.map(({ delivery: { id, task, sender, state } }) => ({
    uri: `baton://handoff/${id}`,
    name: id,
    title: shownText(`${quoteText(task)}, from ${sender}`, connection),
    description: shownText(
      `The handoff of ${quoteText(task)} from ${sender}: ${state}.`,
      connection,
    ),
  }));
}

/** Reads a resource. An unknown id becomes "resource not found", any other error a protocol error. */
async function readResource(
  connection: Connection,
  uri: URL,
  text: () => Promise<string>,
): Promise<ReadResourceResult> {
  try {
    const shown = shownText(await text(), connection);
    return { contents: [{ uri: uri.href, mimeType: MIME_TYPE, text: shown }] };
  } catch (error) {
    if (!isBatonError(error)) throw error;
    throw protocolErrorOf(error, uri, connection);
  }
}

const NOT_FOUND = 404;

function protocolErrorOf(error: BatonError, uri: URL, connection: Connection): ProtocolError {
  const { http, jsonRpc } = ERROR_CODES[error.code];
  const shown = numberedError(error, drawBoundary(connection.ids));
  if (http === NOT_FOUND || error.code === "invalid_input") {
    return new ResourceNotFoundError(uri.href, shown.message);
  }
  return new ProtocolError(jsonRpc, shown.message, shown);
}

/**
 * Tools, resources and prompts that the conformance suite expects (`test_simple_text` and others),
 * registered on the real server. The protocol layer, the transport and everything of Baton's are
 * the same as in production.
 */
import {
  completable,
  createRequestStateCodec,
  fromJsonSchema,
  type McpServer,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import { mcpServer } from "../../../src/mcp/server.ts";
import { registerInputRequired } from "./input-required.ts";

/** A red pixel, and a WAV file of silence. */
const IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const AUDIO = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/** Protects the state that passes through the client, with one key for all requests of a run. */
const states = createRequestStateCodec<string>({ key: crypto.getRandomValues(new Uint8Array(32)) });

export const fixtureServer: typeof mcpServer = (agent, hub) => {
  const server = mcpServer(agent, hub, {
    protocol: { capabilities: { logging: {} }, requestState: { verify: states.verify } },
  });
  registerTools(server);
  registerInputRequired(server, states);
  registerResources(server);
  registerPrompts(server);
  return server;
};

const text = (said: string) => ({ type: "text" as const, text: said });
const image = { type: "image" as const, data: IMAGE, mimeType: "image/png" };
const embedded = (uri: string, mimeType: string, said: string) => ({
  type: "resource" as const,
  resource: { uri, mimeType, text: said },
});

function registerTools(server: McpServer): void {
  const gives = (name: string, content: Parameters<typeof result>[0]): void => {
    server.registerTool(name, { description: `Gives ${name}` }, async () => result(content));
  };
  const result = (
    content: readonly (
      | ReturnType<typeof text>
      | typeof image
      | typeof audio
      | ReturnType<typeof embedded>
    )[],
  ) => ({
    content: [...content],
  });
  const audio = { type: "audio" as const, data: AUDIO, mimeType: "audio/wav" };
  gives("test_simple_text", [text("This is a simple text response for testing.")]);
  gives("test_image_content", [image]);
  gives("test_audio_content", [audio]);
  gives("test_embedded_resource", [
    embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."),
  ]);
  gives("test_multiple_content_types", [
    text("Multiple content types test:"),
    image,
    embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  ]);

  server.registerTool("test_error_handling", { description: "Fails" }, async () => {
    throw new Error("This tool intentionally returns an error for testing");
  });

  server.registerTool(
    "test_tool_with_progress",
    { description: "Tells how far it is" },
    async ({ mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
        await mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, total: 100 },
        });
      }
      return result([text("Went all the way.")]);
    },
  );

  for (const name of ["test_logging_tool", "test_tool_with_logging"]) {
    server.registerTool(name, { description: "Logs" }, async ({ mcpReq }) => {
      for (const said of ["started", "going on", "done"]) await mcpReq.log("info", said);
      return result([text("Logged.")]);
    });
  }

  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "Has a schema with much in it", inputSchema: fromJsonSchema(SCHEMA_2020_12) },
    async () => result([text("Fits.")]),
  );

  server.registerTool(
    "test_header_param",
    {
      description: "Takes an argument that also travels as a header",
      inputSchema: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }),
    },
    async ({ region }) => result([text(region)]),
  );
}

const SCHEMA_2020_12 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
} as const;

function registerResources(server: McpServer): void {
  const described = (title: string, mimeType: string) => ({ title, description: title, mimeType });
  server.registerResource(
    "static-text",
    "test://static-text",
    described("A text", "text/plain"),
    async (uri) => ({
      contents: [{ uri: uri.href, mimeType: "text/plain", text: "This is a static text." }],
    }),
  );
  server.registerResource(
    "static-binary",
    "test://static-binary",
    described("An image", "image/png"),
    async (uri) => ({ contents: [{ uri: uri.href, mimeType: "image/png", blob: IMAGE }] }),
  );
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    described("By id", "application/json"),
    async (uri, { id }) => ({
      contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify({ id }) }],
    }),
  );
}

function registerPrompts(server: McpServer): void {
  const says = (...content: Parameters<typeof message>[0][]) => ({
    messages: content.map(message),
  });
  const message = (
    content: ReturnType<typeof text> | typeof image | ReturnType<typeof embedded>,
  ) => ({ role: "user" as const, content });
  server.registerPrompt("test_simple_prompt", { description: "Simple" }, () =>
    says(text("This is a simple prompt for testing.")),
  );
  server.registerPrompt(
    "test_prompt_with_arguments",
    {
      description: "With arguments",
      argsSchema: z.object({
        arg1: completable(z.string().describe("The first"), (typed) =>
          ["test", "testing"].filter((each) => each.startsWith(typed)),
        ),
        arg2: z.string().describe("The second"),
      }),
    },
    ({ arg1, arg2 }) => says(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    {
      description: "With a resource",
      argsSchema: z.object({ resourceUri: z.string().describe("Which") }),
    },
    ({ resourceUri }) =>
      says(
        embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
  );
  server.registerPrompt("test_prompt_with_image", { description: "With an image" }, () =>
    says(image, text("Please analyze the image above.")),
  );
}

/**
 * Tools that need input from the client before they can answer. None of Baton's own tools does; the
 * suite checks that the protocol layer supports it.
 */
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequest,
  inputRequired,
  inputResponse,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod";

const elicit = (
  message: string,
  field: string,
  of: { readonly type: "string" } | { readonly type: "boolean" } = { type: "string" },
) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: "object", properties: { [field]: of }, required: [field] },
  });

const sample = (text: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text } }],
    maxTokens,
  });

const done = (text: string) => ({ content: [{ type: "text" as const, text }] });

const Named = z.object({ name: z.string() });

export function registerInputRequired(server: McpServer, states: RequestStateCodec<string>): void {
  const asking = (
    name: string,
    answer: (
      context: ServerContext,
    ) => Promise<ReturnType<typeof done> | ReturnType<typeof inputRequired>>,
  ): void => {
    server.registerTool(name, { description: `Asks: ${name}` }, answer);
  };
  /** Requests all inputs, unless all of them were provided. */
  const unless = (
    { mcpReq }: ServerContext,
    inputRequests: Readonly<Record<string, InputRequest>>,
    requestState?: string,
  ) => {
    const isAnswered = Object.keys(inputRequests).every(
      (key) => inputResponse(mcpReq.inputResponses, key).kind !== "missing",
    );
    if (isAnswered) return done("All there. state-ok");
    const state = requestState === undefined ? {} : { requestState };
    return inputRequired({ inputRequests: { ...inputRequests }, ...state });
  };

  for (const name of ["test_input_required_result_elicitation", "test_streaming_elicitation"]) {
    asking(name, async ({ mcpReq }) => {
      const given = acceptedContent(mcpReq.inputResponses, "user_name", Named);
      if (given !== undefined) return done(`Hello, ${given.name}!`);
      return inputRequired({ inputRequests: { user_name: elicit("What is your name?", "name") } });
    });
  }

  asking("test_input_required_result_sampling", async (context) =>
    unless(context, { capital_question: sample("What is the capital of France?", 100) }),
  );
  asking("test_missing_capability", async (context) =>
    unless(context, { sample: sample("Anything", 10) }),
  );
  asking("test_input_required_result_list_roots", async (context) =>
    unless(context, { client_roots: inputRequired.listRoots() }),
  );

  for (const name of [
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
  ]) {
    asking(name, async (context) =>
      unless(
        context,
        { confirm: elicit("Please confirm", "ok", { type: "boolean" }) },
        await states.mint("1"),
      ),
    );
  }

  asking("test_input_required_result_multiple_inputs", async (context) =>
    unless(
      context,
      {
        user_name: elicit("What is your name?", "name"),
        greeting: sample("Generate a greeting", 50),
        client_roots: inputRequired.listRoots(),
      },
      await states.mint("1"),
    ),
  );

  asking("test_input_required_result_multi_round", async ({ mcpReq }) => {
    const round = mcpReq.requestState<string>() ?? "0";
    if (round === "2") return done("Three rounds.");
    const requests =
      round === "0"
        ? { step1: elicit("Step 1: What is your name?", "name") }
        : { step2: elicit("Step 2: What is your favorite color?", "color") };
    const requestState = await states.mint(round === "0" ? "1" : "2");
    return inputRequired({ inputRequests: requests, requestState });
  });

  asking("test_input_required_result_capabilities", async ({ mcpReq }) => {
    const envelope: Readonly<Record<string, object>> = mcpReq.envelope ?? {};
    const declared = envelope[CLIENT_CAPABILITIES_META_KEY] ?? {};
    return inputRequired({
      inputRequests: {
        ...("elicitation" in declared ? { who: elicit("What is your name?", "name") } : {}),
        ...("sampling" in declared ? { what: sample("Say something", 10) } : {}),
      },
    });
  });

  server.registerPrompt(
    "test_input_required_result_prompt",
    { description: "Asks for its context" },
    ({ mcpReq }) => {
      const Context = z.object({ context: z.string() });
      const given = acceptedContent(mcpReq.inputResponses, "user_context", Context);
      if (given === undefined) {
        const user_context = elicit("What context should the prompt use?", "context");
        return inputRequired({ inputRequests: { user_context } });
      }
      const content = { type: "text" as const, text: `With ${given.context}` };
      return { messages: [{ role: "user" as const, content }] };
    },
  );
}

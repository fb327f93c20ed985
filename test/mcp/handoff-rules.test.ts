/** The `handoff_rules` tool: payload types and allowed actions. */
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { listened } from "../http/support.ts";
import { freshAddress, open } from "../support/hub/support.ts";
import { throughHub } from "./listen.ts";
import { call, clientOf, connected, ERAS, overHttp, overStdio, refused } from "./support.ts";

const SCHEMA = { type: "object", required: ["files"], properties: { files: { type: "array" } } };
const BAD = { type: "patch", data: { files: "a.ts" } };

it.each(ERAS)(
  "registers a payload type that every hand_off must match, %s [ENV-13]",
  async (era) => {
    const { hub, url, close } = await throughHub();
    onTestFinished(close);
    const ada = await overHttp(url, "ada", era);
    const ben = await overHttp(url, "ben", era);
    const none = await call(ada, "handoff_rules");
    expect(none).toMatchObject({ payload_types: [], actions: [], unregistered: "accept" });
    const set = await call(ada, "handoff_rules", {
      ...{ payload_type: "patch", schema: SCHEMA },
      ...{ actions: ["delegated"], unregistered: "refuse" },
    });
    expect(set).toMatchObject({
      payload_types: [{ name: "patch", version: 1 }],
      ...{ actions: ["delegated"], unregistered: "refuse" },
    });
    expect(await hub.payloadTypes.list()).toMatchObject([{ name: "patch", by: "ada" }]);

    const draft = { to: "ada", task: "t", intent: "Go" };
    const wrong = await refused(ben, "hand_off", { ...draft, payload: BAD });
    expect(wrong).toMatchObject({ code: "invalid_payload", path: "payload.data.files" });
    const action = await refused(ben, "hand_off", { ...draft, action: "thrown" });
    expect(action).toMatchObject({ code: "invalid_envelope", path: "action" });
    const type = await refused(ben, "hand_off", { ...draft, payload: { type: "x", data: {} } });
    expect(type).toMatchObject({ code: "invalid_payload", path: "payload.type" });

    const { contents } = await ben.readResource({ uri: "baton://handoff-rules" });
    expect(contents).toMatchObject([{ text: expect.stringContaining(JSON.stringify("files")) }]);
    const removed = await call(ada, "handoff_rules", { payload_type: "patch", remove: true });
    expect(removed).toMatchObject({ payload_types: [] });
    for (const [args, path] of [
      [{ payload_type: "patch" }, "schema"],
      [{ payload_type: "patch", schema: SCHEMA, remove: true }, "schema"],
      [{ schema: SCHEMA }, "payload_type"],
      [{ payload_type: "patch", schema: { type: "objct" } }, "schema.type"],
      [{ actions: ["Not A Word"] }, "actions[0]"],
    ] as const) {
      expect(await refused(ada, "handoff_rules", args)).toMatchObject({
        code: "invalid_input",
        path,
      });
    }
  },
);

it("enforces a payload type that another process registered [ENV-13]", async () => {
  const address = freshAddress();
  const hub = await open(address);
  await hub.agent("ada", { role: "agent" });
  await hub.payloadTypes.set("patch", SCHEMA);
  const ada = await overStdio(address, "ada", "2026-07-28");
  const wrong = await refused(ada, "hand_off", { to: "ada", intent: "Go", payload: BAD });
  expect(wrong).toMatchObject({ code: "invalid_payload", path: "payload.data.files" });
  await call(ada, "handoff_rules", { payload_type: "patch", remove: true });
  expect(await hub.payloadTypes.list()).toEqual([]);
});

it("refuses changes with an agent-level token [ENV-13]", async () => {
  const { hub, listening } = await listened(freshAddress("memory"));
  await hub.agent("ada", { role: "agent" });
  const { token } = await hub.tokens.add({ agent: "ada", access: "agent" });
  const client = clientOf("2026-07-28");
  const transport = new StreamableHTTPClientTransport(new URL(`${listening.address}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  onTestFinished(() => client.close());
  const ada = await connected(client, transport);
  expect(await call(ada, "handoff_rules")).toMatchObject({ payload_types: [] });
  const args = { payload_type: "patch", schema: SCHEMA };
  expect(await refused(ada, "handoff_rules", args)).toMatchObject({ code: "forbidden" });
  expect(await hub.payloadTypes.list()).toEqual([]);
});

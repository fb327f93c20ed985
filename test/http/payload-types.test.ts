/** Payload types over HTTP with plain requests, as a program without the SDK sends them. */
import { expect, it } from "vitest";
import { as, served } from "./support.ts";

const JSON_TYPE = { "content-type": "application/json" };
const SCHEMA = { type: "object", required: ["files"], properties: { files: { type: "array" } } };

const body = (value: object, headers: Record<string, string> = {}) => ({
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify(value),
});

it("enforces a registered type on the next request and in the hub's process [ENV-13]", async () => {
  const { hub, fetch, bugs } = await served({ open: "admin" });
  const ada = await hub.agent("ada", { role: "planner" });
  await hub.agent("ben", { role: "coder" });
  const registered = await fetch("/v1/payload-types/patch", {
    method: "PUT",
    ...body({ schema: SCHEMA }, as("ada")),
  });
  expect(registered.status).toBe(200);
  expect(await registered.json()).toMatchObject({ name: "patch", version: 1, by: "ada" });

  const send = (payload: object, action = "delegated") =>
    fetch("/v1/handoffs", {
      method: "POST",
      ...body({ draft: { to: "ben", intent: "Go", action, payload } }, as("ada")),
    });
  const refused = await send({ type: "patch", data: {} });
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ code: "invalid_payload", path: "payload.data" });
  const local = ada.handoff({ to: "ben", intent: "Go", payload: { type: "patch", data: {} } });
  await expect(local).rejects.toMatchObject({ code: "invalid_payload" });

  const rules = { actions: ["delegated"], unregistered: "refuse" };
  const set = await fetch("/v1/settings", { method: "PATCH", ...body({ handoffs: rules }) });
  expect(await set.json()).toMatchObject({ handoffs: rules });
  const good = { type: "patch", data: { files: [] } };
  expect((await send(good, "thrown")).status).toBe(422);
  expect((await send({ type: "other", data: {} })).status).toBe(422);
  expect((await send(good)).status).toBe(200);

  const listed = await (await fetch("/v1/payload-types")).json();
  expect(listed).toMatchObject([{ name: "patch", version: 1, schema: SCHEMA }]);
  expect((await fetch("/v1/payload-types/patch", { method: "DELETE" })).status).toBe(200);
  expect(await (await fetch("/v1/payload-types")).json()).toEqual([]);
  expect(await (await fetch("/v1/payload-types/patch/versions")).json()).toHaveLength(1);
  expect(bugs).toEqual([]);
});

it("requires coordinator access to register a type, reader access to list [ENV-13]", async () => {
  const { hub, fetch } = await served();
  await hub.agent("ada", { role: "planner" });
  const withToken = async (access: "agent" | "coordinator" | "reader") => ({
    authorization: `Bearer ${(await hub.tokens.add({ agent: "ada", access })).token}`,
  });
  const put = async (access: "agent" | "coordinator") =>
    fetch("/v1/payload-types/patch", {
      method: "PUT",
      ...body({ schema: SCHEMA }, await withToken(access)),
    });
  expect((await put("agent")).status).toBe(403);
  expect((await put("coordinator")).status).toBe(200);
  const read = await fetch("/v1/payload-types", { headers: await withToken("reader") });
  expect(await read.json()).toMatchObject([{ name: "patch", by: "ada" }]);
});

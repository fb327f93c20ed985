/** Renders the HTML reference: every operation with its fields and an example, and all errors. No scripts. */
import { ERROR_CODES } from "../base/errors.ts";
import { operationExamples } from "../operations/examples.ts";
import { OPERATION_TABLE } from "../operations/table.ts";
import { type RequestParts, toRequest } from "../operations/wire/request.ts";
import { escapeHtml, page } from "./html.ts";
import { openApi } from "./openapi.ts";

type Json = Record<string, unknown>;

let cachedPage: string | undefined;

/** Placeholder for the hub's address in the cached page. */
const ORIGIN = "%ORIGIN%";

/** Returns the page. `origin`: the hub's address, for the examples. */
export function referencePage(origin: string): string {
  cachedPage ??= render(openApi());
  return cachedPage.replaceAll(ORIGIN, () => escapeHtml(origin));
}

function render(description: Json): string {
  const byTag = Map.groupBy(callsOf(description), ({ tag }) => tag);
  const tags = [...byTag.keys()].sort();
  const body = [
    "<h1>Baton over HTTP</h1>",
    '<p>Every operation is a method of the SDK, with the same name and the same errors. <a href="/openapi.json">OpenAPI 3.1</a></p>',
    "<p>Headers identify the caller: <code>authorization: Bearer baton_…</code>, <code>baton-agent</code>, <code>baton-session</code>, <code>baton-branch</code>. Query values are JSON or plain text. An <code>idempotency-key</code> makes a call safe to retry.</p>",
    `<nav>${tags.map((tag) => `<a href="#${tag}">${tag}</a>`).join(" ")} <a href="#errors">errors</a></nav>`,
    ...tags.map(
      (tag) => `<h2 id="${tag}">${tag}</h2>${(byTag.get(tag) ?? []).map(section).join("")}`,
    ),
    `<h2 id="errors">errors</h2>${errors()}`,
  ].join("\n");
  return page("Baton over HTTP", body);
}

interface ReferenceEntry {
  readonly tag: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Json;
}

function callsOf({ paths }: Json): ReferenceEntry[] {
  return Object.entries(paths as Record<string, Record<string, Json>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      tag: (operation["tags"] as string[])[0] ?? "",
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );
}

function section({ method, path, operation }: ReferenceEntry): string {
  const name = String(operation["operationId"]);
  const fields = fieldsOf(operation);
  const table = fields.length === 0 ? "" : `<table>${fields.map(row).join("")}</table>`;
  return `<h3 id="${name}"><span class="access">${escapeHtml(String(operation["description"]))}</span><span class="method">${method}</span> <code>${escapeHtml(path)}</code></h3><p>${escapeHtml(String(operation["summary"]))} <code>${name}</code></p>${table}${example(name)}`;
}

/** The example of a call: a curl line and the response. Empty for streams, which have none. */
function example(name: string): string {
  const shown = operationExamples()[name];
  const operation = OPERATION_TABLE[name];
  if (shown === undefined || operation === undefined) return "";
  const response = JSON.stringify(shown.output, null, 2);
  return `<details><summary>Example</summary><pre>${escapeHtml(curlLine(toRequest(operation, shown.input)))}</pre><pre>${escapeHtml(response)}</pre></details>`;
}

function curlLine({ method, path, body }: RequestParts): string {
  return [
    `curl${method === "GET" ? "" : ` -X ${method}`} '${quotable(`${ORIGIN}${path}`)}'`,
    `-H "authorization: Bearer $BATON_TOKEN"`,
    ...(body === undefined
      ? []
      : [`-H 'content-type: application/json' -d '${quotable(JSON.stringify(body))}'`]),
  ].join(" \\\n  ");
}

/** Escapes text for single quotes in a shell. */
const quotable = (text: string): string => text.replaceAll("'", String.raw`'\''`);

interface Field {
  readonly name: string;
  readonly where: string;
  readonly required: boolean;
  readonly schema: Json;
}

function fieldsOf(operation: Json): Field[] {
  const parameters = ((operation["parameters"] ?? []) as Json[])
    .filter((each) => each["in"] === "path" || each["in"] === "query")
    .map((each) => ({
      name: String(each["name"]),
      where: String(each["in"]),
      required: each["required"] === true,
      schema: (each["schema"] ?? contentSchema(each)) as Json,
    }));
  const body = contentSchema((operation["requestBody"] ?? {}) as Json);
  const required = (body["required"] ?? []) as string[];
  const inBody = Object.entries((body["properties"] ?? {}) as Record<string, Json>).map(
    ([name, schema]) => ({ name, where: "body", required: required.includes(name), schema }),
  );
  return [...parameters, ...inBody];
}

function contentSchema(holder: Json): Json {
  const content = (holder["content"] ?? {}) as Record<string, Json>;
  return (content["application/json"]?.["schema"] ?? {}) as Json;
}

const row = ({ name, where, required, schema }: Field): string =>
  `<tr><td><code>${escapeHtml(name)}</code>${required ? "" : "?"}</td><td>${where}</td><td><code>${escapeHtml(typeText(schema))}</code></td><td>${escapeHtml(String(schema["description"] ?? ""))}</td></tr>`;

/** Returns a schema as a short type expression. */
function typeText(schema: Json): string {
  if (typeof schema["$ref"] === "string") return schema["$ref"].split("/").at(-1) ?? "";
  if (Array.isArray(schema["enum"]))
    return schema["enum"].map((it) => JSON.stringify(it)).join(" | ");
  if (schema["const"] !== undefined) return JSON.stringify(schema["const"]);
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(choices)) {
    return [...new Set(choices.map((it) => typeText(it as Json)))].join(" | ");
  }
  if (schema["type"] === "array") return `${typeText((schema["items"] ?? {}) as Json)}[]`;
  return String(schema["type"] ?? "any");
}

function errors(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { http, exit, retryable, meaning }]) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${http}</td><td>${exit}</td><td>${retryable ? "yes" : ""}</td><td>${escapeHtml(meaning)}</td></tr>`,
  );
  return `<table><tr><th>code</th><th>status</th><th>exit</th><th>retry</th><th>meaning</th></tr>${rows.join("")}</table>`;
}

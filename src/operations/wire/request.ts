/** Turns the input of an operation into an HTTP request: path, query and body. */
import type { Method, Route } from "../operation.ts";
import { routeOf } from "./route.ts";

/** The parts of an HTTP request. */
export interface RequestParts {
  readonly method: Method;
  /** The path with its query. */
  readonly path: string;
  /** Undefined for GET and DELETE. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

/** Returns the request for a call: fields of the path first, the rest in the query or the body. */
export function toRequest(
  operation: { readonly route: Route },
  input: Readonly<Record<string, unknown>>,
): RequestParts {
  const [method, pattern] = routeOf(operation);
  const rest: Record<string, unknown> = { ...input };
  const path = pattern.replace(/:(\w+)/g, (_, part: string) => {
    const value = rest[part];
    delete rest[part];
    return encodeURIComponent(String(value));
  });
  if (hasBody(method)) return { method, path, body: rest };
  const query = queryOf(rest);
  return { method, path: query === "" ? path : `${path}?${query}`, body: undefined };
}

/** Returns whether fields that are not in the path are sent in the body. */
export const hasBody = (method: Method): boolean => method !== "GET" && method !== "DELETE";

/** Returns the values as a query string; undefined values are left out. */
export function queryOf(values: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined) query.set(key, isPlain(value) ? value : JSON.stringify(value));
  }
  return query.toString();
}

/** A text is sent as it is, unless it would be parsed as JSON; every other value is sent as JSON. */
const isPlain = (value: unknown): value is string =>
  typeof value === "string" && jsonIn(value) === undefined;

/** Returns the value of a JSON text, or undefined if the text is not JSON. */
export function jsonIn(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined; // Not JSON: the caller uses the text itself.
  }
}

/** A call's input, laid out as a request: path, query and body. */
import type { Method, Route } from "../operation.ts";
import { routeOf } from "./route.ts";

export interface RequestParts {
  readonly method: Method;
  /** The path with its query. */
  readonly path: string;
  /** Undefined where the method has none. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

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

/** Whether what the path does not name travels in the body. */
export const hasBody = (method: Method): boolean => method !== "GET" && method !== "DELETE";

export function queryOf(values: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined) query.set(key, isPlain(value) ? value : JSON.stringify(value));
  }
  return query.toString();
}

/** A text goes as it is, unless it would be read as JSON; all else is written as JSON. */
const isPlain = (value: unknown): value is string =>
  typeof value === "string" && jsonIn(value) === undefined;

/** What a text says in JSON; undefined where it is none. */
export function jsonIn(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined; // A text that is no JSON is nothing else than itself.
  }
}

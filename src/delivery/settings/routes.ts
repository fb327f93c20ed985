/**
 * Routes: choose the receiver of a handoff that names none. A route is a rule in a table that the workspace
 * shares (matching action, payload type, result, sender or task), or a function of the hub. No coordinator is
 * needed.
 */

import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { Address, AgentName, type CheckedDraft, Name, Slug } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { changeSetting } from "../../memory/audit/change-setting.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import { entriesOf, entryValue } from "../../workspace/entries.ts";
import type { RouteInput, Workspace } from "../../workspace/workspace.ts";

const ROUTE = "route";

/** A route: the receiver and the conditions that must all match; no conditions match everything. */
export const RouteSchema = z.strictObject({
  to: Address,
  when: z
    .strictObject({
      action: Slug.optional(),
      from: AgentName.optional(),
      payload: Name.optional(),
      result: Slug.optional(),
      task: Name.optional(),
    })
    .default({}),
});

/** Input of `setRoute()`. */
export type Route = z.input<typeof RouteSchema>;
/** A stored route with its name. */
export type RouteInfo = z.output<typeof RouteSchema> & { readonly name: string };

/** Creates or replaces a route; throws `invalid_input`. */
export async function setRoute(workspace: Workspace, name: string, route: Route): Promise<void> {
  const redacted = await redactSecrets(workspace, { name, route });
  const value = parseOrThrow(RouteSchema, redacted.route, {
    code: "invalid_input",
    what: "The route",
  });
  await changeSetting(workspace, { kind: ROUTE, name: parseRouteName(redacted.name) }, () => ({
    value,
  }));
}

/** Deletes a route; does nothing if it does not exist. */
export async function deleteRoute(workspace: Workspace, name: string): Promise<void> {
  await changeSetting(workspace, { kind: ROUTE, name: parseRouteName(name) }, () => ({
    value: undefined,
  }));
}

const parseRouteName = (name: unknown): string =>
  parseOrThrow(Name, name, { code: "invalid_input", what: "The route's name", prefix: "name" });

/** Returns every route of the workspace. */
export async function listRoutes(workspace: Workspace): Promise<RouteInfo[]> {
  const all: RouteInfo[] = [];
  for await (const entry of entriesOf(workspace, ROUTE)) {
    const value = entryValue<z.output<typeof RouteSchema>>(entry);
    if (value !== undefined) all.push({ name: entry.name, ...value });
  }
  return all;
}

/** Returns the values of a handoff that routes match against. */
export function routeInputOf(
  draft: CheckedDraft,
  from: string,
  result?: string | undefined,
): RouteInput {
  return { from, task: draft.task, action: draft.action, payload: draft.payload?.type, result };
}

/**
 * Returns the receiver that the routes choose: the hub's function first, then the matching rule with the most
 * conditions; undefined if none matches. With `byResult`, only rules with a `result` condition count, since
 * completed work is sent on only where a rule states it explicitly.
 */
export async function resolveRoute(
  workspace: Workspace,
  leaving: RouteInput,
  byResult = false,
): Promise<string | undefined> {
  const computed = byResult ? undefined : await workspace.route?.(leaving);
  if (computed !== undefined) {
    return parseOrThrow(Address, computed, {
      code: "invalid_input",
      what: "The route",
      prefix: "to",
    });
  }
  const fitting = (await listRoutes(workspace))
    .filter(({ when }) => !byResult || when.result !== undefined)
    .filter(({ when }) => fits(when, leaving));
  const conditions = ({ when }: RouteInfo): number => Object.keys(when).length;
  return fitting.sort((a, b) => conditions(b) - conditions(a))[0]?.to;
}

function fits(when: RouteInfo["when"], leaving: RouteInput): boolean {
  return Object.entries(when).every(
    ([field, value]) => value === undefined || leaving[field as keyof RouteInput] === value,
  );
}

/** Returns the `no_route` error for a handoff without a receiver. */
export function noRoute(leaving: RouteInput): BatonError {
  return new BatonError("no_route", {
    message: `The handoff names no receiver and no route matches (action "${leaving.action}").`,
    path: "to",
    hint: 'Set to: "…", or add a route: hub.routes.set("review", { when: { action }, to: "role:reviewer" }).',
    details: { ...leaving },
  });
}

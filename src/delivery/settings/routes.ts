/**
 * Routes: who comes next when the sender names nobody. A table that the workspace shares (on action,
 * payload type, result, sender, task), or a function of the hub; no coordinator is needed.
 */

import * as z from "zod";
import { BatonError } from "../../base/errors.ts";
import { Address, AgentName, type CheckedDraft, Name, Slug } from "../../envelope/schema.ts";
import { parseOrThrow } from "../../envelope/violations.ts";
import { redactSecrets } from "../../memory/redaction/secret-policy.ts";
import { changeEntry, entriesOf, entryValue } from "../../workspace/entries.ts";
import type { RouteInput, Workspace } from "../../workspace/workspace.ts";

const ROUTE = "route";

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

export type Route = z.input<typeof RouteSchema>;
export type RouteInfo = z.output<typeof RouteSchema> & { readonly name: string };

export async function setRoute(workspace: Workspace, name: string, route: Route): Promise<void> {
  const said = await redactSecrets(workspace, { name, route });
  const value = parseOrThrow(RouteSchema, said.route, { code: "invalid_input", what: "The route" });
  await changeEntry(workspace, { kind: ROUTE, name: parseRouteName(said.name) }, () => ({ value }));
}

export async function deleteRoute(workspace: Workspace, name: string): Promise<void> {
  await changeEntry(workspace, { kind: ROUTE, name: parseRouteName(name) }, () => ({
    value: undefined,
  }));
}

const parseRouteName = (name: unknown): string =>
  parseOrThrow(Name, name, { code: "invalid_input", what: "The route's name", prefix: "name" });

export async function listRoutes(workspace: Workspace): Promise<RouteInfo[]> {
  const all: RouteInfo[] = [];
  for await (const entry of entriesOf(workspace, ROUTE)) {
    const value = entryValue<z.output<typeof RouteSchema>>(entry);
    if (value !== undefined) all.push({ name: entry.name, ...value });
  }
  return all;
}

export function routeInputOf(
  draft: CheckedDraft,
  from: string,
  result?: string | undefined,
): RouteInput {
  return { from, task: draft.task, action: draft.action, payload: draft.payload?.type, result };
}

/**
 * Where it goes: the function first, then the rule with the most conditions that all hold. `byResult`:
 * only rules that ask for a result, since completed work goes on only where somebody said so.
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

export function noRoute(leaving: RouteInput): BatonError {
  return new BatonError("no_route", {
    message: `The handoff names no receiver, and no route fits (action "${leaving.action}").`,
    path: "to",
    hint: 'Say to: "…", or set a route: hub.routes.set("review", { when: { action }, to: "role:reviewer" }).',
    details: { ...leaving },
  });
}

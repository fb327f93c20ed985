/** Runs an operation by calling the SDK method that it is named after. */
import type { LocalAgent } from "../hub/agent.ts";
import type { LocalHub } from "../hub/hub.ts";
import type { LocalWork } from "../hub/local-work.ts";
import type { LocalOffer } from "../hub/offer.ts";
import { runAs } from "../workspace/actor.ts";
import type { Operation, OperationContext } from "./operation.ts";
import { DONE, Done } from "./schemas/common.ts";

type Input = Readonly<Record<string, unknown>>;

/** Checks the operation's guard, runs it on behalf of its caller and returns its output. */
export function runOperation(
  operation: Operation,
  acting: OperationContext,
  input: Input,
): Promise<unknown> {
  return runAs(acting.actor, () => run(operation, acting, input));
}

/** Operations that return to admins more than to other callers, although others may run them too. */
const WIDER_FOR_ADMINS: ReadonlySet<string> = new Set(["memories.sql"]);

/** Records a read that only administrators may do, before anything is read. */
export async function recordAdminRead(
  { name, access, route }: Pick<Operation, "name" | "access" | "route">,
  { hub, actor, access: has }: OperationContext,
): Promise<void> {
  const isRead = access === "admin" && route.startsWith("GET ");
  const isWider = has === "admin" && WIDER_FOR_ADMINS.has(name);
  if (isRead || isWider) await hub.recordCall({ kind: "read", action: name, actor });
}

async function run(operation: Operation, acting: OperationContext, input: Input): Promise<unknown> {
  if (acting.access === "admin") await recordAdminRead(operation, acting);
  await operation.guard?.(acting, input as never);
  if (operation.run !== undefined) return operation.run(acting, input as never);
  const result = await callMethod(operation, await targetOf(operation, acting, input), {
    input,
    onProgress: acting.onProgress,
  });
  if (operation.field !== undefined) return { [operation.field]: result ?? null };
  return operation.output === Done ? DONE : result;
}

/** Input fields that identify the work or offer; they are not arguments of its method. */
const LOOKUP_FIELDS = ["handle", "envelope"];

type Target = LocalHub | LocalAgent | LocalWork | LocalOffer;

async function targetOf(
  { on }: Operation,
  acting: OperationContext,
  { handle, envelope }: Input,
): Promise<Target> {
  switch (on) {
    case "hub":
      return acting.hub;
    case "reader":
      return acting.reader();
    case "agent":
      return acting.agent();
    case "work":
      return (await acting.agent()).held(handle as string, envelope as string | undefined);
    case "offer":
      return (await acting.agent()).offered(handle as string, envelope as string | undefined);
  }
}

/** Returns the path of a method below its owner: ["complete"] for "work.complete". */
export const methodPath = ({ name, on }: Pick<Operation, "name" | "on">): readonly string[] => {
  const path = name.split(".");
  return on === "work" || on === "offer" ? path.slice(1) : path;
};

async function callMethod(
  operation: Operation,
  target: Target,
  {
    input,
    onProgress,
  }: { readonly input: Input; readonly onProgress: OperationContext["onProgress"] },
): Promise<unknown> {
  const { args = [], on, progress } = operation;
  const found = on === "work" || on === "offer" ? LOOKUP_FIELDS : [];
  const options = Object.fromEntries(
    Object.entries(input).filter(([name]) => !args.includes(name) && !found.includes(name)),
  );
  const positional = args.map((name) => input[name]);
  const takesOptions =
    Object.keys(operation.input.shape).length >
    args.length + (found.length > 0 ? countOf(operation) : 0);
  const last = takesOptions ? [progress ? { ...options, onProgress } : options] : [];
  const path = methodPath(operation);
  const owner = path.slice(0, -1).reduce<unknown>((group, name) => memberOf(group, name), target);
  const method = memberOf(owner, path.at(-1) as string) as (...args: unknown[]) => unknown;
  return method.apply(owner, [
    ...positional,
    ...last,
    ...(progress && !takesOptions ? [onProgress] : []),
  ]);
}

const countOf = ({ input }: Operation): number =>
  LOOKUP_FIELDS.filter((name) => name in input.shape).length;

const memberOf = (group: unknown, name: string): unknown =>
  (group as Readonly<Record<string, unknown>>)[name];

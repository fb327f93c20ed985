/** Creates the methods of a remote hub or agent from the operations that they are named after. */
import { OPERATION_TABLE } from "../operations/table.ts";
import type { OperationShape } from "../operations/wire/shape.ts";
import { mergeOptions, splitProgressListener } from "./connection/call-options.ts";
import type { Wire } from "./connection/wire.ts";

type Group = Record<string, unknown>;

/** Returns an object with every method of these owners, by group: `derive<Hub>(wire, ["hub", "reader"])`. */
export function derive<Owner>(wire: Wire, owners: readonly OperationShape["on"][]): Owner {
  const root: Group = {};
  for (const [name, operation] of Object.entries(OPERATION_TABLE)) {
    if (!owners.includes(operation.on)) continue;
    const path = name.split(".");
    const method = path.pop() as string;
    let group = root;
    for (const part of path) {
      group[part] ??= {};
      group = group[part] as Group;
    }
    group[method] = methodOf(wire, name, operation);
  }
  return root as Owner;
}

function methodOf(
  wire: Wire,
  name: string,
  { args = [], field, nothing, options: takesOptions, progress }: OperationShape,
): (...args: unknown[]) => Promise<unknown> {
  return async (...given) => {
    const last = given[args.length];
    const { onProgress, rest } = takesOptions
      ? splitProgressListener((last === undefined ? {} : last) as { onProgress?: unknown })
      : { onProgress: last, rest: {} };
    const input = mergeOptions(rest, Object.fromEntries(args.map((arg, i) => [arg, given[i]])));
    const listener = onProgress as ((progress: never) => void) | undefined;
    const options = progress ? { onProgress: listener, long: true as const } : {};
    const answer = await wire.call<Group | null>(name, input, options);
    if (nothing) return undefined;
    return (field === undefined ? answer : answer?.[field]) ?? undefined;
  };
}

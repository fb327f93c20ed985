/**
 * Refuses names of agents and roles that look like existing ones. Only new names are compared, so agents that
 * have such names already stay as they are, and can be changed. An agent may have aliases that look alike.
 */
import { BatonError } from "../base/errors.ts";
import { looksLike } from "../base/look-alikes.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Workspace } from "../workspace/workspace.ts";

type Names = Pick<AgentRow, "id" | "aliases" | "role">;

/** The registration to check. */
interface Registration {
  readonly current: Names | undefined;
  readonly wanted: Names;
  /** The name of the hub's own agent. */
  readonly reserved: string;
}

const namesOf = ({ id, aliases }: Names): readonly string[] => [id, ...aliases];

/**
 * Throws `alias_taken` if a new name looks like one of another agent or like the hub's, and `invalid_input` if
 * a new role looks like another one.
 */
export async function refuseLookAlikes(
  workspace: Workspace,
  { current, wanted, reserved }: Registration,
): Promise<void> {
  const known = current === undefined ? [] : namesOf(current);
  const names = namesOf(wanted).filter((name) => !known.includes(name));
  const role = wanted.role === current?.role ? "" : wanted.role;
  if (names.length === 0 && role === "") return;
  for (const name of names) if (looksLike(name, reserved)) throw reservedName(name, reserved);
  const others = (await workspace.store.listAgents(workspace.name)).filter(
    ({ id }) => id !== wanted.id,
  );
  for (const name of names) refuseName(name, others, name === wanted.id);
  if (role !== "") refuseRole(role, others);
}

function refuseName(name: string, others: readonly Names[], isId: boolean): void {
  for (const other of others) {
    // The store refuses an equal name, also one that is registered at this moment.
    const like = namesOf(other).find((each) => each !== name && looksLike(each, name));
    if (like === undefined) continue;
    throw new BatonError("alias_taken", {
      message: `The name "${name}" looks like "${like}", a name of agent "${other.id}".`,
      path: isId ? "agent" : "profile.aliases",
      hint: `Use the name "${like}", or choose one that cannot be confused with it: ${SAME}.`,
      details: { name, by: other.id, like },
    });
  }
}

function refuseRole(role: string, others: readonly Names[]): void {
  if (others.some((other) => other.role === role)) return;
  const same = others.find((other) => other.role !== "" && looksLike(other.role, role));
  if (same === undefined) return;
  throw new BatonError("invalid_input", {
    message: `The role "${role}" looks like "${same.role}", the role of agent "${same.id}".`,
    path: "profile.role",
    hint: `Use the role "${same.role}", or choose one that cannot be confused with it: ${SAME}.`,
    details: { role, by: same.id, like: same.role },
  });
}

const SAME = "case, letters that look the same, 0 and o, and 1 and l do not distinguish names";

/** Builds `alias_taken` for the name of the hub, or one that looks like it. */
export const reservedName = (name: string, reserved: string): BatonError =>
  new BatonError("alias_taken", {
    message:
      name === reserved
        ? `The name "${name}" is reserved for the hub.`
        : `The name "${name}" looks like "${reserved}", which is reserved for the hub.`,
    path: "agent",
    hint: "Choose another name.",
    details: { name, by: reserved },
  });

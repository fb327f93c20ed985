/**
 * Provides the hub itself as an author, for records of what policy decides. It is an agent named `baton`,
 * registered on first use; the name is reserved.
 */
import { canonicalJson } from "../base/digest.ts";
import { runAs } from "../workspace/actor.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { registerAudited } from "./audit/register-audited.ts";
import type { Author } from "./record.ts";

/** The reserved agent id of the hub, the author of what policy decides. */
export const SYSTEM = "baton";

const systemAuthors = new WeakMap<object, Promise<Author>>();

/** Returns the hub's author for a workspace; registers it once per open hub. */
export function systemAuthor(workspace: Workspace): Promise<Author> {
  const before = systemAuthors.get(workspace.root);
  if (before !== undefined) return before;
  const author = runAs({ via: "hub" }, () => register(workspace));
  systemAuthors.set(workspace.root, author);
  author.catch(() => systemAuthors.delete(workspace.root)); // The next call retries.
  return author;
}

async function register(workspace: Workspace): Promise<Author> {
  const author = { agent: SYSTEM, instance: workspace.ids.mint("session") };
  if ((await workspace.store.findAgent(workspace.name, SYSTEM)) !== undefined) return author;
  const description = "The hub itself, carrying out policies.";
  const profile = canonicalJson({ description }, "invalid_input", "profile");
  const agent = {
    id: SYSTEM,
    role: "",
    status: "active",
    aliases: [],
    publicKey: "",
    profile,
  } as const;
  // "changed": another process registered it in the meantime.
  await registerAudited(workspace, { author, action: "agent", current: undefined, agent });
  return author;
}

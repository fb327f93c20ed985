/**
 * Provides the hub itself as an author, for records of what policy decides. It is an agent named `baton`,
 * registered on first use; the name is reserved.
 */

import type { Workspace } from "../workspace/workspace.ts";
import { registerSystem, SYSTEM } from "./agents.ts";
import type { Author } from "./record.ts";

const systemAuthors = new WeakMap<object, Promise<Author>>();

/** Returns the hub's author for a workspace; registers it once per open hub. */
export function systemAuthor(workspace: Workspace): Promise<Author> {
  const before = systemAuthors.get(workspace.root);
  if (before !== undefined) return before;
  const author = register(workspace);
  systemAuthors.set(workspace.root, author);
  author.catch(() => systemAuthors.delete(workspace.root)); // The next call retries.
  return author;
}

async function register(workspace: Workspace): Promise<Author> {
  await registerSystem(workspace);
  return { agent: SYSTEM, instance: workspace.ids.mint("session") };
}

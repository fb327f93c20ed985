/**
 * The hub itself as an author: what policy decides leaves records too, and somebody must have
 * written them. An agent like any other, registered when it is first needed, that nobody else can be.
 */

import type { Workspace } from "../workspace/workspace.ts";
import { registerSystem, SYSTEM } from "./agents.ts";
import type { Author } from "./record.ts";

const systemAuthors = new WeakMap<object, Promise<Author>>();

export function systemAuthor(workspace: Workspace): Promise<Author> {
  const before = systemAuthors.get(workspace.root);
  if (before !== undefined) return before;
  const author = register(workspace);
  systemAuthors.set(workspace.root, author);
  author.catch(() => systemAuthors.delete(workspace.root)); // The next who needs it tries again.
  return author;
}

async function register(workspace: Workspace): Promise<Author> {
  await registerSystem(workspace);
  return { agent: SYSTEM, instance: workspace.ids.mint("session") };
}

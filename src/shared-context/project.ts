/**
 * Updates the project items of the shared context from a fresh reading of the project, by a hook, a person
 * or git. Unchanged items are not written again; of two concurrent updates the later one wins.
 */
import { canonicalJson } from "../base/digest.ts";
import { isBatonError } from "../base/errors.ts";
import type { Author } from "../memory/record.ts";
import { RETRY, tryWrite } from "../workspace/retry.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { ProjectItem } from "./git.ts";
import type { ContextItem } from "./items.ts";
import { liveItem } from "./stored-items.ts";
import { itemOf, writeItemChange } from "./write.ts";

/** Writes the changed items and returns them; empty if nothing changed. */
export async function updateProject(
  workspace: Workspace,
  by: Author,
  items: readonly ProjectItem[],
): Promise<readonly ContextItem[]> {
  const written: ContextItem[] = [];
  for (const item of items) {
    const changed = await update(workspace, by, item);
    if (changed !== undefined) written.push(changed);
  }
  return written;
}

async function update(
  workspace: Workspace,
  by: Author,
  item: ProjectItem,
): Promise<ContextItem | undefined> {
  let conflict: unknown;
  const written = await tryWrite(async () => {
    const now = await liveItem(workspace, item);
    if (now?.kind === "item" && isUnchanged(now.item, item)) return undefined;
    const basedOn = now?.kind === "item" ? now.item.version : now?.version;
    try {
      return itemOf(
        item,
        by,
        await writeItemChange(workspace, by, { kind: "set", item }, { basedOn }),
      );
    } catch (error) {
      if (!isBatonError(error) || error.code !== "context_conflict") throw error;
      conflict = error;
      return RETRY;
    }
  });
  if (written === RETRY) throw conflict;
  return written;
}

function isUnchanged(now: ContextItem, { content, data, roles }: ProjectItem): boolean {
  if (now.section !== "project") return false;
  const joined = (...values: unknown[]): string =>
    canonicalJson(
      values.map((value) => value ?? null),
      "invalid_input",
    );
  return joined(now.content, now.data, now.roles) === joined(content, data, roles);
}

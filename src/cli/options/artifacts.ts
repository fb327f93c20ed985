/** Files a handoff names, pinned by what is in them now: so its receiver can tell whether they have changed. */

import { isBatonError } from "../../base/errors.ts";
import type { Draft } from "../../envelope/schema.ts";
import { artifactOf } from "../../envelope/seal.ts";
import type { Hub } from "../../hub/hub.ts";

type Artifact = NonNullable<Draft["artifacts"]>[number];

/** With the files of --file, which must be there; those of --draft get a digest where they are at hand. */
export async function withFiles(
  hub: Hub,
  draft: Partial<Draft>,
  files: readonly string[] = [],
): Promise<Partial<Draft>> {
  const { artifacts: drafted = [] } = draft;
  if (files.length === 0 && !(Array.isArray(drafted) && drafted.length > 0)) return draft;
  const artifacts: Artifact[] = [];
  for (const each of drafted) artifacts.push(await pinArtifact(hub, each));
  for (const path of files) artifacts.push(await hub.handoffs.artifact(path));
  return { ...draft, artifacts };
}

async function pinArtifact(hub: Hub, drafted: Artifact): Promise<Artifact> {
  const artifact = typeof drafted === "string" ? artifactOf(drafted) : drafted;
  const { kind, path, digest } = artifact ?? {}; // The library says what is wrong with it.
  if (kind !== "file" || typeof path !== "string" || digest !== undefined) return artifact;
  try {
    return { ...artifact, digest: (await hub.handoffs.artifact(path)).digest };
  } catch (error) {
    if (isBatonError(error)) return artifact; // Not at hand here.
    throw error;
  }
}

/** Adds files to a handoff as artifacts with the digest of their content, so that receivers detect changes. */

import { isBatonError } from "../../base/errors.ts";
import type { Draft } from "../../envelope/schema.ts";
import { artifactOf } from "../../envelope/seal.ts";
import type { Hub } from "../../hub/hub.ts";

type Artifact = NonNullable<Draft["artifacts"]>[number];

/**
 * Returns the draft with the files of --file, which must exist. File artifacts of --draft get a digest if
 * the file can be read here.
 */
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
  const { kind, path, digest } = artifact ?? {}; // The library validates it.
  if (kind !== "file" || typeof path !== "string" || digest !== undefined) return artifact;
  try {
    return { ...artifact, digest: (await hub.handoffs.artifact(path)).digest };
  } catch (error) {
    if (isBatonError(error)) return artifact; // The file cannot be read here.
    throw error;
  }
}

/**
 * Files that a handoff names: they stay where they are, and travel by their digest. Where the file is at
 * hand, it is fresh, stale or gone; where it is not, that is said. Nothing outside of the folder that the
 * hub was given is ever opened, whatever a handoff calls a path.
 */
import { createHash } from "node:crypto";
import { constants, type FileHandle, open, realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { BatonError } from "../../base/errors.ts";
import type { Envelope } from "../../envelope/schema.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { CheckedArtifact } from "./view.ts";

type Artifact = Envelope["artifacts"][number];

/** A file as an artifact of a handoff: its path in the hub's folder, and what is in it now. */
export interface FileArtifact {
  readonly kind: "file";
  readonly path: string;
  readonly digest: string;
}

/** The artifacts of a handoff, each as it is here, in their order. */
export async function checkArtifacts(
  workspace: Workspace,
  artifacts: Envelope["artifacts"],
): Promise<CheckedArtifact[]> {
  const checked: CheckedArtifact[] = [];
  let room = workspace.limits.artifactBytes;
  for (const artifact of artifacts) {
    const { path } = artifact;
    const looked = await checkFile(workspace, artifact, room);
    if (looked.kind === "read") room -= looked.bytes;
    checked.push({ path, freshness: freshnessOf(artifact, looked) });
  }
  return checked;
}

/** What became of looking into a file. */
type FileCheck =
  | { readonly kind: "read"; readonly digest: string; readonly bytes: number }
  | { readonly kind: "gone" }
  /** Not here, not readable, or larger than there is room. */
  | { readonly kind: "unchecked" };

function freshnessOf({ digest }: Artifact, looked: FileCheck): CheckedArtifact["freshness"] {
  if (looked.kind !== "read") return looked.kind;
  return looked.digest === digest ? "fresh" : "stale";
}

async function checkFile(
  { files }: Workspace,
  artifact: Artifact,
  room: number,
): Promise<FileCheck> {
  if (files === undefined || artifact.kind !== "file" || artifact.digest === undefined) {
    return { kind: "unchecked" };
  }
  const inside = insideOf(files, artifact.path);
  return inside === undefined ? { kind: "unchecked" } : digestIn(files, inside, room);
}

/** The path, if by its name it is within the folder; links are looked at when it is opened. */
function insideOf(root: string, path: string): string | undefined {
  if (path.includes("\0")) return undefined;
  const from = relative(root, resolve(root, path));
  return from === "" || from === ".." || from.startsWith(`..${sep}`) || isAbsolute(from)
    ? undefined
    : resolve(root, from);
}

/** Not through a link at its end, and without waiting for the other end of a pipe. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function digestIn(root: string, path: string, room: number): Promise<FileCheck> {
  try {
    const [base, real] = [await realpath(root), await realpath(path)];
    if (insideOf(base, real) === undefined) return { kind: "unchecked" };
    await using file = await open(real, OPEN_FLAGS);
    return await digestOf(file, room);
  } catch (error) {
    return isMissing(error) ? { kind: "gone" } : { kind: "unchecked" };
  }
}

async function digestOf(file: FileHandle, room: number): Promise<FileCheck> {
  const stat = await file.stat();
  if (!stat.isFile()) return { kind: "gone" };
  if (stat.size > room) return { kind: "unchecked" };
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > room) return { kind: "unchecked" }; // It grows while it is read.
    hash.update(chunk);
  }
  return { kind: "read", digest: hash.digest("hex"), bytes };
}

const isMissing = (error: unknown): boolean => {
  const code = (error as { readonly code?: unknown }).code;
  return code === "ENOENT" || code === "ENOTDIR";
};

/** A file of the hub's folder as an artifact, with the digest of what is in it now. */
export async function fileArtifact(
  { files, limits }: Pick<Workspace, "files" | "limits">,
  path: string,
): Promise<FileArtifact> {
  const inside = files === undefined ? undefined : insideOf(files, path);
  if (files === undefined || inside === undefined) throw outside(path, files);
  const looked = await digestIn(files, inside, limits.artifactBytes);
  if (looked.kind !== "read") throw unusable(path, files, limits.artifactBytes);
  const named = relative(files, inside).split(sep).join("/");
  return { kind: "file", path: named, digest: looked.digest };
}

function outside(path: string, files: string | undefined): BatonError {
  return new BatonError("invalid_input", {
    message: `${path} is not in the folder whose files this hub looks into${files === undefined ? ": it has none" : ""}.`,
    path: "path",
    hint: "Open the hub with files: <the folder>, or give the digest yourself.",
  });
}

function unusable(path: string, files: string, most: number): BatonError {
  return new BatonError("file_unusable", {
    message: `${path} cannot be read in ${files}, leads out of it, or has more than ${most} bytes.`,
    path: "path",
    hint: "Name a file that is there; the limit is artifactBytes.",
  });
}

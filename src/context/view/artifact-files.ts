/**
 * Compares the files that a handoff references as artifacts with their recorded SHA-256, and creates such
 * artifacts from files. A file that this hub can read is fresh, stale or gone; any other is unchecked.
 * Nothing outside the folder that the hub was opened with is ever opened, whatever path a handoff contains.
 */
import { createHash } from "node:crypto";
import { constants, type FileHandle, open, realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { BatonError } from "../../base/errors.ts";
import type { Envelope } from "../../envelope/schema.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import type { CheckedArtifact } from "./view.ts";

type Artifact = Envelope["artifacts"][number];

/**
 * A file as an artifact of a handoff: its path in the hub's folder, and the SHA-256 of its current content.
 */
export interface FileArtifact {
  readonly kind: "file";
  readonly path: string;
  readonly digest: string;
}

/** Checks the artifacts of a handoff, in their order. Reads at most `limits.artifactBytes` bytes in total. */
export async function checkArtifacts(
  workspace: Workspace,
  artifacts: Envelope["artifacts"],
): Promise<CheckedArtifact[]> {
  const checked: CheckedArtifact[] = [];
  let bytesLeft = workspace.limits.artifactBytes;
  for (const artifact of artifacts) {
    const { path } = artifact;
    const looked = await checkFile(workspace, artifact, bytesLeft);
    if (looked.kind === "read") bytesLeft -= looked.bytes;
    checked.push({ path, freshness: freshnessOf(artifact, looked) });
  }
  return checked;
}

/** The result of checking a file. */
type FileCheck =
  | { readonly kind: "read"; readonly digest: string; readonly bytes: number }
  | { readonly kind: "gone" }
  /** Not available here, not readable, or larger than the bytes left. */
  | { readonly kind: "unchecked" };

function freshnessOf({ digest }: Artifact, looked: FileCheck): CheckedArtifact["freshness"] {
  if (looked.kind !== "read") return looked.kind;
  return looked.digest === digest ? "fresh" : "stale";
}

async function checkFile(
  { files }: Workspace,
  artifact: Artifact,
  maxBytes: number,
): Promise<FileCheck> {
  if (files === undefined || artifact.kind !== "file" || artifact.digest === undefined) {
    return { kind: "unchecked" };
  }
  const inside = insideOf(files, artifact.path);
  return inside === undefined ? { kind: "unchecked" } : digestIn(files, inside, maxBytes);
}

/** Returns the path if its name is within the folder; links are checked when it is opened. */
function insideOf(root: string, path: string): string | undefined {
  if (path.includes("\0")) return undefined;
  const from = relative(root, resolve(root, path));
  return from === "" || from === ".." || from.startsWith(`..${sep}`) || isAbsolute(from)
    ? undefined
    : resolve(root, from);
}

/** Does not follow a link in the last component, and does not wait for the other end of a pipe. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function digestIn(root: string, path: string, maxBytes: number): Promise<FileCheck> {
  try {
    const [base, real] = [await realpath(root), await realpath(path)];
    if (insideOf(base, real) === undefined) return { kind: "unchecked" };
    await using file = await open(real, OPEN_FLAGS);
    return await digestOf(file, maxBytes);
  } catch (error) {
    return isMissing(error) ? { kind: "gone" } : { kind: "unchecked" };
  }
}

async function digestOf(file: FileHandle, maxBytes: number): Promise<FileCheck> {
  const stat = await file.stat();
  if (!stat.isFile()) return { kind: "gone" };
  if (stat.size > maxBytes) return { kind: "unchecked" };
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return { kind: "unchecked" }; // It grew while it was read.
    hash.update(chunk);
  }
  return { kind: "read", digest: hash.digest("hex"), bytes };
}

const isMissing = (error: unknown): boolean => {
  const code = (error as { readonly code?: unknown }).code;
  return code === "ENOENT" || code === "ENOTDIR";
};

/** Returns a file of the hub's folder as an artifact. Throws `invalid_input` and `file_unusable`. */
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
    message: `${path} is not in the files folder of this hub${files === undefined ? ": the hub has none" : ""}.`,
    path: "path",
    hint: "Open the hub with files: <the folder>, or pass the digest yourself.",
  });
}

function unusable(path: string, files: string, most: number): BatonError {
  return new BatonError("file_unusable", {
    message: `${path} is not readable in ${files}, is outside of it, or has more than ${most} bytes.`,
    path: "path",
    hint: "Use a readable file in that folder, up to the limit artifactBytes.",
  });
}

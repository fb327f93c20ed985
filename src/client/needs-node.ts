/** Parts of the client that need Node: files, git, and requests that do not keep the process running. */
import { BatonError } from "../base/errors.ts";
import type * as files from "../context/view/artifact-files.ts";
import type * as git from "../shared-context/git.ts";
import type * as archive from "./node/archive.ts";
import type * as quiet from "./node/background-fetch.ts";

/** Each is loaded when it is first used. */
export interface NodeModules {
  archive(): Promise<typeof archive>;
  files(): Promise<typeof files>;
  git(): Promise<typeof git>;
  quiet(): Promise<typeof quiet>;
}

/** Throws where the client does not run in Node. */
export function requireNode(modules: NodeModules | undefined, method: string): NodeModules {
  if (modules !== undefined) return modules;
  throw new BatonError("dependency_missing", {
    message: `${method} needs Node.js: this runtime has no files and no processes.`,
    path: method,
    hint: "Call it from Node.js.",
  });
}

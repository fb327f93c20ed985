/**
 * Declares the client modules that are loaded only in Node: archive, files, git, the token of a hub on this
 * machine, and requests that do not keep the process running. Outside Node, a method that needs one throws `dependency_missing`.
 */
import { BatonError } from "../base/errors.ts";
import type * as files from "../context/view/artifact-files.ts";
import type * as git from "../shared-context/git.ts";
import type * as archive from "./node/archive.ts";
import type * as quiet from "./node/background-fetch.ts";
import type * as localToken from "./node/local-token.ts";

/** Loads each module when it is first used. */
export interface NodeModules {
  archive(): Promise<typeof archive>;
  files(): Promise<typeof files>;
  git(): Promise<typeof git>;
  localToken(): Promise<typeof localToken>;
  quiet(): Promise<typeof quiet>;
}

/** Returns the modules. Throws dependency_missing outside Node. */
export function requireNode(modules: NodeModules | undefined, method: string): NodeModules {
  if (modules !== undefined) return modules;
  throw new BatonError("dependency_missing", {
    message: `${method} requires Node.js: this runtime has no file system and no processes.`,
    path: method,
    hint: "Call it from Node.js.",
  });
}

/** Loads the parts of the client that need Node when they are first used. */
import type { NodeModules } from "../needs-node.ts";

/** Undefined outside Node. */
export const nodeModules: NodeModules | undefined =
  globalThis.process?.versions?.node === undefined
    ? undefined
    : {
        archive: () => import("./archive.ts"),
        files: () => import("../../context/view/artifact-files.ts"),
        git: () => import("../../shared-context/git.ts"),
        localToken: () => import("./local-token.ts"),
        quiet: () => import("./background-fetch.ts"),
      };

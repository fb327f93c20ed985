/** Packages that only some users need: optional peer dependencies, loaded on first use. */
import { BatonError } from "./errors.ts";

/** The optional packages of Baton. */
export type OptionalPackage = "pg" | "libpg-query";

/**
 * Loads a module that imports an optional package; `neededFor` names the feature that needs it. Throws
 * `dependency_missing` with the command that installs the package if it is not installed; every other error
 * is rethrown unchanged.
 */
export async function loadOptional<Module>(
  name: OptionalPackage,
  load: () => Promise<Module>,
  { neededFor }: { readonly neededFor: string },
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error, name)) throw error;
    throw new BatonError("dependency_missing", {
      message: `${neededFor} requires the package "${name}". Install it: npm install ${name}`,
      path: name,
      hint: "Install it in the project that uses Baton, with --global if Baton is installed globally.",
      details: { package: name },
      cause: error,
    });
  }
}

/**
 * Returns true only if `name` itself is missing. If a package that `name` depends on is missing, the
 * installation is broken, and that error is rethrown unchanged.
 */
function isMissing(error: unknown, name: OptionalPackage): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    error.code === "ERR_MODULE_NOT_FOUND" &&
    error.message.startsWith(`Cannot find package '${name}' `)
  );
}

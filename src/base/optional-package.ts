/** Packages that only some users need: optional peer dependencies, loaded on first use. */
import { BatonError } from "./errors.ts";

export type OptionalPackage = "pg" | "libpg-query";

/**
 * Loads a module that imports an optional package. Throws `dependency_missing` with the command that
 * installs the package when it is not there; any other error is thrown as it is.
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
      hint: "Install it in the project that uses Baton; with --global if Baton is installed globally.",
      details: { package: name },
      cause: error,
    });
  }
}

/** Another package that `name` itself needs is a broken installation, and reported as it is. */
function isMissing(error: unknown, name: OptionalPackage): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    error.code === "ERR_MODULE_NOT_FOUND" &&
    error.message.startsWith(`Cannot find package '${name}' `)
  );
}

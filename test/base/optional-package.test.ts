/**
 * Loading of optional packages. scripts/check-package.ts checks the same in an installed package.
 */
import { describe, expect, it } from "vitest";
import { loadOptional } from "../../src/base/optional-package.ts";

const options = { neededFor: "A PostgreSQL store" };

/** Returns the error that Node throws for an import of `name`. */
const notFound = (name: string): Error =>
  Object.assign(new Error(`Cannot find package '${name}' imported from /app/open.js`), {
    code: "ERR_MODULE_NOT_FOUND",
  });

describe("an optional package", () => {
  it("is returned when it is installed", async () => {
    const loaded = await loadOptional("pg", () => import("pg"), options);
    expect(loaded.Client).toBeTypeOf("function");
  });

  it("is reported with the command that installs it when it is missing", async () => {
    const cause = notFound("pg");
    await expect(loadOptional("pg", () => Promise.reject(cause), options)).rejects.toMatchObject({
      code: "dependency_missing",
      message: 'A PostgreSQL store requires the package "pg". Install it: npm install pg',
      hint: "Install it in the project that uses Baton, with --global if Baton is installed globally.",
      details: { package: "pg" },
      retryable: false,
      cause,
    });
  });

  it.each([notFound("pg-types"), new SyntaxError("Unexpected token")])(
    "throws the original error when it fails to load for another reason: %s",
    async (error) => {
      await expect(loadOptional("pg", () => Promise.reject(error), options)).rejects.toBe(error);
    },
  );
});

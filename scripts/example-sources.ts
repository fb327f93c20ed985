/**
 * Loaded before an example. The examples import "batonpass" as every user does; here that name leads to
 * src/, so that nothing has to be built first. (tsconfig.json and vitest.config.ts say the same.)
 */
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "./tools.ts";

const source = (file: string): string => pathToFileURL(join(ROOT, "src", file)).href;
const SOURCES = new Map([
  ["batonpass", source("index.ts")],
  ["batonpass/testing", source("testing/index.ts")],
]);

registerHooks({
  resolve: (specifier, context, next) => next(SOURCES.get(specifier) ?? specifier, context),
});

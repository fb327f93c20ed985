/**
 * Preloaded before an example. Examples import "batonpass" like any user; this resolves the name to
 * src/, so that no build is needed. (tsconfig.json and vitest.config.ts do the same.)
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

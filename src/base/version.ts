/** The version of this package, read from package.json. */
import { readFileSync } from "node:fs";

let cachedVersion: string | undefined;

/** Returns the version of Baton, such as "1.2.3"; reads package.json once. */
export function batonVersion(): string {
  cachedVersion ??= (
    JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
      version: string;
    }
  ).version;
  return cachedVersion;
}

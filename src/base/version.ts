/** Which Baton this is. */
import { readFileSync } from "node:fs";

let cachedVersion: string | undefined;

export function batonVersion(): string {
  cachedVersion ??= (
    JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
      version: string;
    }
  ).version;
  return cachedVersion;
}

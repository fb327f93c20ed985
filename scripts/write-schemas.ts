/** Writes the JSON Schemas to dist/schemas: one per version, and the newest without a version. */
import { mkdirSync, writeFileSync } from "node:fs";
import { ENVELOPE_VERSION, ENVELOPE_VERSIONS, envelopeJsonSchema } from "../src/index.ts";

const folder = new URL("../dist/schemas/", import.meta.url);
mkdirSync(folder, { recursive: true });

function write(name: string, version: (typeof ENVELOPE_VERSIONS)[number]): void {
  const text = `${JSON.stringify(envelopeJsonSchema(version), null, 2)}\n`;
  writeFileSync(new URL(name, folder), text);
}

for (const version of ENVELOPE_VERSIONS) write(`envelope-${version}.json`, version);
write("envelope.json", ENVELOPE_VERSION);

/** The command `baton schema`: print the JSON Schema of envelopes or of shared context items. */
import { BatonError } from "../../../base/errors.ts";
import { command } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printJson } from "../../terminal.ts";

export const schema = command({
  name: "schema",
  summary: "Print the JSON Schema of envelopes or of shared context items",
  args: [
    {
      name: "schema",
      help: "envelope, or context for an item of the shared context",
      choices: ["envelope", "context"],
    },
  ],
  options: {
    version: { type: "text", value: "<major.minor>", help: "version (default: the newest)" },
    json: { type: "flag", help: "no effect; the output is always JSON" },
  },

  async run({ args: [of], options }) {
    if (of === "context") {
      const { contextJsonSchema } = await import("../../../shared-context/items.ts");
      printJson(contextJsonSchema());
      return OK;
    }
    const { ENVELOPE_VERSION } = await import("../../../envelope/schema.ts");
    const { ENVELOPE_VERSIONS, envelopeJsonSchema } = await import(
      "../../../envelope/json-schema.ts"
    );
    const wanted = options.version ?? ENVELOPE_VERSION;
    const version = ENVELOPE_VERSIONS.find((known) => known === wanted);
    if (version === undefined) {
      throw new BatonError("invalid_input", {
        message: `Unknown envelope version ${wanted}.`,
        path: "--version",
        hint: `Use one of: ${ENVELOPE_VERSIONS.join(", ")}.`,
      });
    }
    printJson(envelopeJsonSchema(version));
    return OK;
  },
});

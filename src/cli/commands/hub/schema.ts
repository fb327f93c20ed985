import { BatonError } from "../../../base/errors.ts";
import { command } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printJson } from "../../terminal.ts";

export const schema = command({
  name: "schema",
  summary: "the JSON Schema of what is sent and stored",
  args: [
    {
      name: "schema",
      help: "of what: envelope, or context for an item of the shared context",
      choices: ["envelope", "context"],
    },
  ],
  options: {
    version: { type: "text", value: "<major.minor>", help: "of this version; else the newest" },
    json: { type: "flag", help: "as it always is" },
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
        message: `There is no version ${wanted} of the envelope.`,
        path: "--version",
        hint: `Known: ${ENVELOPE_VERSIONS.join(", ")}.`,
      });
    }
    printJson(envelopeJsonSchema(version));
    return OK;
  },
});

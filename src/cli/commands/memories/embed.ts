/** The command `baton embed`: compute missing embeddings of all memories, and list the models. */
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { progressBar } from "../../progress.ts";
import { openExisting } from "../../store.ts";
import { dim, plural, printJson, printLine, table } from "../../terminal.ts";

export const embed = command({
  name: "embed",
  summary: "Compute missing embeddings of all memories, and list the models",
  args: [],
  options: {
    list: { type: "flag", help: "only list models and their progress" },
    drop: { type: "text", value: "<model>", help: "model to delete the vectors of" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options: { list, drop, json, ...choice } }) {
    await using hub = await openExisting(choice);
    if (drop !== undefined) await hub.index.deleteModel(drop);
    if (!list && drop === undefined) {
      const bar = progressBar("embedding");
      await hub.index.embed(({ done, total }) => bar.show(done, total)).finally(() => bar.end());
    }
    const models = await hub.index.models();
    if (json) printJson(models);
    else if (models.length === 0) printLine(dim("No embeddings yet."));
    else {
      const rows = models.map(({ model, dimensions, vectors, done, total }) => [
        model,
        plural(vectors, "vector"),
        plural(dimensions, "dimension"),
        done >= total ? "up to date" : `${done} of ${total} records processed`,
      ]);
      for (const row of table(rows)) printLine(row);
    }
    return OK;
  },
});

/** SQLite: a new file for every run, in a temporary folder that is deleted afterwards. */
import { scratch } from "../kit.ts";
import type { Engine, Place } from "./engine.ts";

export async function startSqlite(): Promise<Engine> {
  return {
    version: `SQLite ${process.versions["sqlite"]}`,
    async place(): Promise<Place> {
      const folder = scratch();
      return {
        address: `sqlite:${folder.file("hub.db")}`,
        [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
      };
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

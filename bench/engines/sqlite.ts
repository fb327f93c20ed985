/** A file of its own for every run, in a folder that vanishes with it. */
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

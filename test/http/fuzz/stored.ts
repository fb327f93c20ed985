/**
 * What a SQLite store holds, in a few numbers read past the hub: no row can come, go or change its meaning
 * without one of them changing. None changes by what happens whoever calls: a lease is renewed, what was
 * scheduled is ready, a vector is kept.
 */
import { DatabaseSync } from "node:sqlite";

const NUMBERS = `select
  (select count(*) || ':' || coalesce(max(pos), 0) from memories) as memories,
  (select count(*) || ':' || coalesce(sum(n), 0) from relations) as relations,
  (select count(*) || ':' || coalesce(max(number), 0) from events) as events,
  (select count(*) || ':' || coalesce(max(pos), 0) from envelopes) as envelopes,
  (select count(*) || ':' || coalesce(sum(max(state, 1) * pos), 0) || ':' || coalesce(sum(fence), 0) from deliveries) as deliveries,
  (select count(*) from attempts) as attempts,
  (select count(*) || ':' || coalesce(sum(revision), 0) from entries) as entries,
  (select count(*) || ':' || coalesce(sum(revision), 0) from agents) as agents,
  (select count(*) from agent_names) as names`;

export class Stored implements Disposable {
  readonly #db: DatabaseSync;
  #version = -1;
  #text = "";

  constructor(file: string) {
    this.#db = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  }

  /** Read again only when somebody has written. */
  look(): string {
    const { data_version: version } = this.#db.prepare("pragma data_version").get() as {
      data_version: number;
    };
    if (version !== this.#version) {
      this.#version = version;
      this.#text = JSON.stringify(this.#db.prepare(NUMBERS).get());
    }
    return this.#text;
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}

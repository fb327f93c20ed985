/**
 * A fingerprint of a SQLite store, read from the file and not through the hub. It changes when a
 * row is added, deleted or changes its meaning, but not by side effects that any call can have: a
 * renewed lease, a scheduled delivery that becomes ready, a stored vector, the last use of a token,
 * the audit record of a denied call.
 */
import { DatabaseSync } from "node:sqlite";

const NUMBERS = `select
  (select count(*) || ':' || coalesce(max(m.pos), 0) from memories m
    join chains c on c.key = m.chain where c.branch <> 'audit') as memories,
  (select count(*) || ':' || coalesce(sum(n), 0) from relations) as relations,
  (select count(*) || ':' || coalesce(max(last), 0) from event_groups) as events,
  (select count(*) || ':' || coalesce(max(pos), 0) from envelopes) as envelopes,
  (select count(*) || ':' || coalesce(sum(max(state, 1) * pos), 0) || ':' || coalesce(sum(fence), 0) from deliveries) as deliveries,
  (select count(*) from attempts) as attempts,
  (select count(*) || ':' || coalesce(sum(revision) filter (where kind <> 'token'), 0) from entries) as entries,
  (select coalesce(sum(length(json_remove(value, '$.lastUsedAt'))), 0) from entries where kind = 'token') as tokens,
  (select count(*) || ':' || coalesce(sum(revision), 0) from agents) as agents,
  (select count(*) from agent_names) as names`;

export class Stored implements Disposable {
  readonly #db: DatabaseSync;
  #version = -1;
  #text = "";

  constructor(file: string) {
    this.#db = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  }

  /** Returns the fingerprint; reads it again only after a write. */
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

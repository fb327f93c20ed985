/**
 * Wake-ups between hubs. After a commit the agents it concerns are named in a notification, outside
 * the transaction (inside, all commits of the server would queue up for it), and what comes
 * together while one is on its way goes as one. A notification is a hint: losing one costs the
 * time until the next look.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { sha256 } from "../../base/digest.ts";
import type { WakeTarget } from "../store.ts";
import type { WakeNotifier } from "../wake-notifier.ts";
import type { PostgresAddress } from "./address.ts";
import { clientConfig, keepProcessAlive } from "./connection.ts";

/** PostgreSQL takes less than 8,000 bytes; more than that wakes everybody. */
const MAX_PAYLOAD_BYTES = 7_900;
const WAKE_ALL = "";
const RECONNECT_MS = 1_000;

export class Notifier {
  readonly #address: PostgresAddress;
  readonly #bell: WakeNotifier;
  readonly #send: (channel: string, payload: string) => Promise<unknown>;
  /** Tells our own notifications from the others': we have rung for those already. */
  readonly #self = randomUUID();
  readonly #channel: string;
  #pending = new Map<string, Set<string>>();
  #sending: Promise<void> | undefined;
  #listening: pg.Client | undefined;
  #closed = false;
  #started = false;

  constructor(
    address: PostgresAddress,
    bell: WakeNotifier,
    send: (channel: string, payload: string) => Promise<unknown>,
  ) {
    this.#address = address;
    this.#bell = bell;
    this.#send = send;
    this.#channel = channelOf(address.schema);
  }

  /** Begins to listen, once. A pooler cannot hold a listening connection. */
  start(): void {
    if (this.#started || this.#address.pgbouncer) return;
    this.#started = true;
    void this.#listen();
  }

  ring(workspace: string, agents: readonly string[]): void {
    const pending = this.#pending.get(workspace) ?? new Set();
    for (const agent of agents) pending.add(agent);
    this.#pending.set(workspace, pending);
    this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    while (this.#pending.size > 0) {
      const payload = this.#payload();
      this.#pending = new Map();
      await this.#send(this.#channel, payload).catch(() => {}); // A hint only.
    }
    this.#sending = undefined;
  }

  #payload(): string {
    const agents = [...this.#pending].map(([workspace, names]) => [workspace, ...names]);
    const payload = JSON.stringify([this.#self, ...agents]);
    return Buffer.byteLength(payload) < MAX_PAYLOAD_BYTES ? payload : WAKE_ALL;
  }

  /** Listens for as long as the store is open, whatever becomes of the connection. */
  async #listen(): Promise<void> {
    let again = false;
    while (!this.#closed) {
      const client = new pg.Client(clientConfig(this.#address));
      const ended = new Promise<void>((resolve) => {
        client.once("end", resolve);
        client.on("error", () => resolve());
      });
      client.on("notification", ({ payload = WAKE_ALL }) => this.#heard(payload));
      try {
        await client.connect();
        await client.query(`listen ${this.#channel}`);
        this.#listening = client;
        if (this.#closed) break;
        keepProcessAlive(client, false); // Who only listens may end.
        if (again) this.#bell.ringAll(); // Whatever was said meanwhile, nobody heard it.
        await ended;
      } catch {
        // The server is away: whoever waits looks by itself now and then.
      }
      again = true;
      this.#listening = undefined;
      await client.end().catch(() => {});
      if (!this.#closed) await sleep(RECONNECT_MS, undefined, { ref: false });
    }
    await this.#listening?.end().catch(() => {});
  }

  #heard(payload: string): void {
    if (payload === WAKE_ALL) {
      this.#bell.ringAll();
      return;
    }
    const [from, ...wakes] = parsePayload(payload);
    if (from === this.#self) return;
    const whom: WakeTarget[] = wakes.flatMap(([workspace, ...agents]) =>
      agents.map((agent) => ({ workspace, agent })),
    );
    this.#bell.ring(whom);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#sending; // What was written last wakes others too.
    if (this.#listening === undefined) return;
    keepProcessAlive(this.#listening, true); // Until it has said goodbye.
    await this.#listening.end().catch(() => {});
  }
}

/** A channel's name has at most 63 bytes, like the schema's. */
function channelOf(schema: string): string {
  const channel = `baton_${schema}`;
  return channel.length < 64 ? channel : `baton_${sha256(schema).slice(0, 32)}`;
}

/** Anybody can say anything on a channel: what is not ours concerns nobody. */
function parsePayload(payload: string): [string, ...[string, ...string[]][]] {
  try {
    const said: unknown = JSON.parse(payload);
    if (Array.isArray(said) && said.slice(1).every(Array.isArray)) return said as never;
  } catch {
    // Not even JSON.
  }
  return [""];
}

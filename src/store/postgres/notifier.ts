/**
 * Sends and receives wake-ups between hubs. After a commit, one notification names the agents it concerns.
 * It is sent outside the transaction (inside, all commits of the server would wait for each other), and
 * agents that are added while a notification is being sent go into the next one. A notification is a hint:
 * if one is lost, the receiver finds the work when it next polls.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { sha256 } from "../../base/digest.ts";
import type { WakeTarget } from "../store.ts";
import type { WakeNotifier } from "../wake/wake-notifier.ts";
import type { PostgresAddress } from "./address.ts";
import { clientConfig, keepProcessAlive, untilClosed } from "./connection.ts";

/** PostgreSQL accepts less than 8,000 bytes; a larger notification wakes all agents. */
const MAX_PAYLOAD_BYTES = 7_900;
const WAKE_ALL = "";
const RECONNECT_MS = 1_000;

/** Sends and receives the wake-ups of one store. */
export class Notifier {
  readonly #address: PostgresAddress;
  readonly #notifier: WakeNotifier;
  readonly #send: (channel: string, payload: string) => Promise<unknown>;
  /** Identifies this hub's own notifications: its agents have been woken already. */
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
    this.#notifier = bell;
    this.#send = send;
    this.#channel = channelOf(address.schema);
  }

  /** Starts listening, once. Not behind a pooler, which cannot hold a listening connection. */
  start(): void {
    if (this.#started || this.#address.pgbouncer) return;
    this.#started = true;
    void this.#listen();
  }

  /** Wakes agents at other hubs. */
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
      await this.#send(this.#channel, payload).catch(() => {}); // Only a hint.
    }
    this.#sending = undefined;
  }

  #payload(): string {
    const agents = [...this.#pending].map(([workspace, names]) => [workspace, ...names]);
    const payload = JSON.stringify([this.#self, ...agents]);
    return Buffer.byteLength(payload) < MAX_PAYLOAD_BYTES ? payload : WAKE_ALL;
  }

  /** Listens until the store is closed; reconnects when the connection breaks. */
  async #listen(): Promise<void> {
    let again = false;
    while (!this.#closed) {
      const client = new pg.Client(clientConfig(this.#address));
      const ended = new Promise<void>((resolve) => {
        client.once("end", resolve);
        client.on("error", () => resolve());
      });
      client.on("notification", ({ payload = WAKE_ALL }) => this.#receive(payload));
      try {
        await client.connect();
        await client.query(`listen ${this.#channel}`);
        this.#listening = client;
        if (this.#closed) break;
        keepProcessAlive(client, false); // Listening alone does not keep the process alive.
        if (again) this.#notifier.ringAll(); // Notifications sent in the meantime were missed.
        await ended;
      } catch {
        // The server is unavailable: waiting callers poll from time to time anyway.
      }
      again = true;
      this.#listening = undefined;
      await untilClosed(client.end());
      if (!this.#closed) await sleep(RECONNECT_MS, undefined, { ref: false });
    }
    if (this.#listening !== undefined) await untilClosed(this.#listening.end());
  }

  #receive(payload: string): void {
    if (payload === WAKE_ALL) {
      this.#notifier.ringAll();
      return;
    }
    const [from, ...wakes] = parsePayload(payload);
    if (from === this.#self) return;
    const whom: WakeTarget[] = wakes.flatMap(([workspace, ...agents]) =>
      agents.map((agent) => ({ workspace, agent })),
    );
    this.#notifier.ring(whom);
  }

  /** Sends what is pending and stops listening. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#sending; // The last writes wake other hubs as well.
    if (this.#listening === undefined) return;
    keepProcessAlive(this.#listening, true); // Until the connection is closed.
    await untilClosed(this.#listening.end());
  }
}

/** Returns the channel of a schema. Like names of schemas, names of channels have at most 63 bytes. */
function channelOf(schema: string): string {
  const channel = `baton_${schema}`;
  return channel.length < 64 ? channel : `baton_${sha256(schema).slice(0, 32)}`;
}

/** Parses a payload. Any client can send on a channel: payloads that are not from Baton wake no agent. */
function parsePayload(payload: string): [string, ...[string, ...string[]][]] {
  try {
    const message: unknown = JSON.parse(payload);
    if (Array.isArray(message) && message.slice(1).every(Array.isArray)) return message as never;
  } catch {
    // Not JSON.
  }
  return [""];
}

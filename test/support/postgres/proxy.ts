/**
 * A network between hub and server that breaks on demand, at an exact message: before it reaches the
 * server, or after the server has done what it says and before the hub hears of it.
 *
 * Speaks just enough of the protocol to cut at messages instead of bytes: every message has a type
 * and a length, but for the very first of a connection, which has no type.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/**
 * What happens at the message:
 *   "unsent"    it is thrown away; when what was sent before it is answered, both sides find their
 *               connection closed
 *   "unheard"   it goes through and is carried out; its answer is thrown away, then as above
 *   "hung up"   it goes through, and only the hub finds its connection closed, at once
 *   "silent"    it is thrown away; nothing is ever answered, and nobody finds anything closed
 *   "late"      only the hub finds its connection closed; the message (and what followed it) waits
 *               and arrives when it is let through
 */
export type FaultKind = "unsent" | "unheard" | "hung up" | "silent" | "late";

export interface Fault {
  /** After the hub's connection was closed. */
  readonly happened: Promise<void>;
  /** Lets through what was held back. */
  arrive(): Promise<void>;
  /** After the server has done with everything that reached it. */
  readonly finished: Promise<void>;
}

export interface Proxy extends AsyncDisposable {
  /** The server's address, by way of this proxy. */
  through(address: string): string;
  /** Breaks the connection on which the hub sends a message that contains `text` (the nth of them). */
  breakAt(text: string, kind: FaultKind, nth?: number): Fault;
  /** While closed, nobody gets through: new connections are dropped at once. */
  open: boolean;
  /** So many new connections are ended by the server in the packet that says they are ready. */
  endsNew: number;
  /** Drops every connection there is. */
  dropAll(): void;
  /** Connections that were made through it so far. */
  readonly made: number;
}

interface Trap {
  readonly text: string;
  readonly kind: FaultKind;
  readonly spring: (line: Line) => void;
  nth: number;
}

export interface ProxyOptions {
  /** Sees every message of the hub: its type ("" for the first one) and what it says. */
  readonly onRequest?: (type: string, body: Buffer) => void;
}

export async function startProxy(
  server: string,
  { onRequest = () => {} }: ProxyOptions = {},
): Promise<Proxy> {
  const { hostname, port } = new URL(server);
  const lines = new Set<Line>();
  let trap: Trap | undefined;
  let made = 0;
  const proxy = {
    open: true,
    endsNew: 0,
    get made() {
      return made;
    },
    through(address: string): string {
      const url = new URL(address);
      url.hostname = "127.0.0.1";
      url.port = `${(listener.address() as { port: number }).port}`;
      return url.href;
    },
    breakAt(text: string, kind: FaultKind, nth = 1): Fault {
      const { promise, resolve } = Promise.withResolvers<Line>();
      trap = { text, kind, spring: resolve, nth };
      return {
        happened: promise.then((line) => line.hubClosed),
        arrive: async () => (await promise).arrive(),
        finished: promise.then((line) => line.finished),
      };
    },
    dropAll(): void {
      for (const line of lines) line.close();
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      proxy.dropAll();
      await once(listener, "close");
    },
  };
  const springs = (line: Line, message: Buffer): FaultKind | undefined => {
    const typed = message[0] !== 0; // The first message begins with its length.
    onRequest(
      typed ? String.fromCharCode(message[0] as number) : "",
      message.subarray(typed ? 5 : 4),
    );
    if (trap === undefined || !message.includes(trap.text) || --trap.nth > 0) return undefined;
    const { kind, spring } = trap;
    trap = undefined;
    spring(line);
    return kind;
  };
  const listener = createServer((hub) => {
    hub.on("error", () => {});
    if (!proxy.open) {
      hub.destroy();
      return;
    }
    made++;
    const line = new Line(hub, connect(Number(port), hostname), springs);
    if (proxy.endsNew > 0) {
      proxy.endsNew--;
      line.endWhenReady();
    }
    lines.add(line);
    void Promise.all([line.hubClosed, line.finished]).then(() => lines.delete(line));
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  return proxy;
}

/** One connection of the hub, and the one to the server that carries it. */
class Line {
  readonly hubClosed: Promise<void>;
  readonly finished: Promise<void>;
  readonly #hub: Socket;
  readonly #server: Socket;
  /** Requests that were sent, less those that were answered; the first is to be let in. */
  #unanswered = 1;
  /** Of those, the ones that were sent before it broke: they are still answered. */
  #owed = 0;
  #broken: FaultKind | undefined;
  #endsWhenReady = false;
  readonly #held: Buffer[] = [];

  constructor(
    hub: Socket,
    server: Socket,
    springs: (line: Line, message: Buffer) => FaultKind | undefined,
  ) {
    this.#hub = hub.setNoDelay();
    this.#server = server.setNoDelay();
    this.hubClosed = new Promise((resolve) => hub.once("close", () => resolve()));
    this.finished = new Promise((resolve) => server.once("close", () => resolve()));
    const requests = new Messages({ untyped: 1 });
    hub.on("data", (bytes) => {
      for (const message of requests.add(bytes)) {
        const fault = springs(this, message);
        if (fault !== undefined) this.#break(fault);
        this.#request(message);
      }
    });
    const answers = new Messages({ untyped: 0 });
    server.on("data", (bytes) => {
      for (const message of answers.add(bytes)) this.#answer(message);
    });
    server.on("error", () => {});
    server.once("close", () => hub.destroy());
    hub.once("close", () => {
      if (this.#broken !== "late" && this.#broken !== "hung up") server.destroy();
    });
  }

  close(): void {
    this.#hub.destroy();
    this.#server.destroy();
  }

  endWhenReady(): void {
    this.#endsWhenReady = true;
  }

  arrive(): void {
    for (const message of this.#held.splice(0)) this.#forward(message);
  }

  #break(fault: FaultKind): void {
    this.#broken = fault;
    this.#owed = this.#unanswered;
    if (fault === "unsent" && this.#owed === 0) this.close();
  }

  #request(message: Buffer): void {
    switch (this.#broken) {
      case "unsent":
      case "silent":
        break;
      case "late":
        this.#held.push(message);
        setImmediate(() => this.#hub.destroy()); // What was sent in the same breath waits too.
        break;
      case "hung up":
        this.#forward(message);
        setImmediate(() => this.#hub.destroy());
        break;
      case "unheard":
      case undefined:
        this.#forward(message);
    }
  }

  #forward(message: Buffer): void {
    if (SYNC.has(message[0] as number)) this.#unanswered++;
    this.#server.write(message);
  }

  #answer(message: Buffer): void {
    if (this.#endsWhenReady && message[0] === READY) {
      this.#hub.end(Buffer.concat([message, ENDED]));
      return;
    }
    if (this.#broken === undefined || this.#owed > 0) this.#hub.write(message);
    if (message[0] !== READY) return;
    this.#unanswered--;
    this.#owed--;
    const done = this.#unanswered <= 0 && this.#held.length === 0;
    if (done && this.#broken !== undefined) this.close();
  }
}

const READY = "Z".charCodeAt(0);
/** What a server says to every connection when it is shut down. */
const ENDED = errorMessage({
  S: "FATAL",
  V: "FATAL",
  C: "57P01",
  M: "terminating connection due to administrator command",
});

function errorMessage(fields: Readonly<Record<string, string>>): Buffer {
  const body = Buffer.from(
    `${Object.entries(fields)
      .map(([type, text]) => `${type}${text}\0`)
      .join("")}\0`,
  );
  const head = Buffer.from("E....");
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** Each of these is answered by one "ready". */
const SYNC = new Set(["S", "Q"].map((type) => type.charCodeAt(0)));

/** Cuts a stream into messages. */
class Messages {
  #rest = Buffer.alloc(0);
  #untyped: number;

  constructor({ untyped }: { untyped: number }) {
    this.#untyped = untyped;
  }

  add(bytes: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const messages: Buffer[] = [];
    for (;;) {
      const type = this.#untyped > 0 ? 0 : 1;
      if (this.#rest.length < type + 4) return messages;
      const length = type + this.#rest.readUInt32BE(type);
      if (this.#rest.length < length) return messages;
      messages.push(this.#rest.subarray(0, length));
      this.#rest = this.#rest.subarray(length);
      if (this.#untyped > 0) this.#untyped--;
    }
  }
}

/**
 * A network between hub and server that breaks on demand at an exact message: before it reaches the
 * server, or after the server has processed it and before the hub gets the response.
 *
 * Knows just enough of the protocol to cut at messages instead of bytes: every message has a type
 * and a length, except the first of a connection, which has no type.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/**
 * What happens to the message:
 *   "unsent"    it is dropped; after earlier messages are answered, the connection is closed on
 *               both sides
 *   "unheard"   it is forwarded and processed; its response is dropped, then as above
 *   "hung up"   it is forwarded, and only the hub's connection is closed, at once
 *   "silent"    it is dropped; no response ever arrives, and no connection is closed
 *   "late"      only the hub's connection is closed; the message and those after it are held back
 *               until they are released
 */
export type FaultKind = "unsent" | "unheard" | "hung up" | "silent" | "late";

export interface Fault {
  /** Resolves after the hub's connection was closed. */
  readonly happened: Promise<void>;
  /** Forwards the messages that were held back. */
  arrive(): Promise<void>;
  /** Resolves after the server has processed everything that reached it. */
  readonly finished: Promise<void>;
}

export interface Proxy extends AsyncDisposable {
  /** Returns the server's address with this proxy as host. */
  through(address: string): string;
  /** Breaks the connection on which the hub sends the nth message that contains `text`. */
  breakAt(text: string, kind: FaultKind, nth?: number): Fault;
  /** If false, new connections are dropped at once. */
  open: boolean;
  /** If true, nothing passes in either direction; no connection is closed, and new ones are accepted. */
  silent: boolean;
  /** Number of new connections that the server ends in the packet that reports them ready. */
  endsNew: number;
  /** Drops every open connection. */
  dropAll(): void;
  /** Number of connections made through the proxy so far. */
  readonly made: number;
}

interface Trap {
  readonly text: string;
  readonly kind: FaultKind;
  readonly spring: (line: Line) => void;
  nth: number;
}

export interface ProxyOptions {
  /** Receives every message of the hub: its type ("" for the first one) and its body. */
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
    silent: false,
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
    const isSilent = (): boolean => proxy.silent;
    const line = new Line(hub, connect(Number(port), hostname), { springs, isSilent });
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

interface Network {
  readonly springs: (line: Line, message: Buffer) => FaultKind | undefined;
  readonly isSilent: () => boolean;
}

/** One connection of the hub, and the connection to the server behind it. */
class Line {
  readonly hubClosed: Promise<void>;
  readonly finished: Promise<void>;
  readonly #hub: Socket;
  readonly #server: Socket;
  /** Requests that are not answered yet; the first is the login. */
  #unanswered = 1;
  /** Requests that were sent before the connection broke: they are still answered. */
  #owed = 0;
  #broken: FaultKind | undefined;
  #endsWhenReady = false;
  readonly #held: Buffer[] = [];

  constructor(hub: Socket, server: Socket, { springs, isSilent }: Network) {
    this.#hub = hub.setNoDelay();
    this.#server = server.setNoDelay();
    this.hubClosed = new Promise((resolve) => hub.once("close", () => resolve()));
    this.finished = new Promise((resolve) => server.once("close", () => resolve()));
    const requests = new Messages({ untyped: 1 });
    hub.on("data", (bytes) => {
      if (isSilent()) return;
      for (const message of requests.add(bytes)) {
        const fault = springs(this, message);
        if (fault !== undefined) this.#break(fault);
        this.#request(message);
      }
    });
    const answers = new Messages({ untyped: 0 });
    server.on("data", (bytes) => {
      if (isSilent()) return;
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
        setImmediate(() => this.#hub.destroy()); // Messages in the same batch are held back too.
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
/** The message that a server sends to every connection when it shuts down. */
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

/** Message types that are answered by one "ready". */
const SYNC = new Set(["S", "Q"].map((type) => type.charCodeAt(0)));

/** Splits a stream into messages. */
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

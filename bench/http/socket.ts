/**
 * A minimal HTTP client: one connection, one request at a time. The hub is what is measured, and a
 * client that does more work would compete with it for the CPU of a small machine.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export class Line implements Disposable {
  readonly #port: number;
  readonly #head: string;
  #socket: Socket | undefined;
  #buffer = "";
  #waiting: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;

  constructor(port: number, headers: Readonly<Record<string, string>>) {
    this.#port = port;
    const named = Object.entries({ host: "127.0.0.1", ...headers });
    this.#head = named.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  }

  /** Connects, or reconnects: the hub closes idle connections. */
  async #connected(): Promise<Socket> {
    if (this.#socket?.writable) return this.#socket;
    const socket = connect({ port: this.#port, host: "127.0.0.1" }).setNoDelay(true);
    await once(socket, "connect");
    this.#buffer = "";
    socket.setEncoding("latin1").on("data", (piece: string) => this.#receive(piece));
    socket.on("error", (error) => this.#waiting?.reject(error));
    socket.on("close", () => this.#waiting?.reject(new Error("The hub closed the connection")));
    this.#socket = socket;
    return socket;
  }

  get(path: string): Promise<Answer> {
    return this.#send(`GET ${path} HTTP/1.1\r\n${this.#head}\r\n`);
  }

  post(path: string, value: unknown): Promise<Answer> {
    const body = JSON.stringify(value);
    const about = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
    return this.#send(`POST ${path} HTTP/1.1\r\n${this.#head}${about}\r\n\r\n${body}`);
  }

  async #send(text: string): Promise<Answer> {
    const socket = await this.#connected();
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      socket.write(text);
    });
  }

  #receive(piece: string): void {
    this.#buffer += piece;
    const end = this.#buffer.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = this.#buffer.slice(0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(length)) {
      this.#waiting?.reject(new Error(`Response without Content-Length: ${head}`));
      return;
    }
    if (this.#buffer.length < end + 4 + length) return;
    const answer = {
      status: Number(this.#buffer.slice(9, 12)),
      body: this.#buffer.slice(end + 4, end + 4 + length),
    };
    this.#buffer = "";
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answer);
  }

  [Symbol.dispose](): void {
    this.#waiting = undefined;
    this.#socket?.destroy();
  }
}

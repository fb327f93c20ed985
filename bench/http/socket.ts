/**
 * One connection, one request at a time, with as little work as can be: what is measured is the hub, and a
 * client that does more takes the other half of a small machine's time.
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
  #said = "";
  #waiting: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;

  constructor(port: number, headers: Readonly<Record<string, string>>) {
    this.#port = port;
    const named = Object.entries({ host: "127.0.0.1", ...headers });
    this.#head = named.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  }

  /** A hub closes what was quiet for a while. */
  async #connected(): Promise<Socket> {
    if (this.#socket?.writable) return this.#socket;
    const socket = connect({ port: this.#port, host: "127.0.0.1" }).setNoDelay(true);
    await once(socket, "connect");
    this.#said = "";
    socket.setEncoding("latin1").on("data", (piece: string) => this.#hear(piece));
    socket.on("error", (error) => this.#waiting?.reject(error));
    socket.on("close", () => this.#waiting?.reject(new Error("the hub hung up")));
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

  #hear(piece: string): void {
    this.#said += piece;
    const end = this.#said.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = this.#said.slice(0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(length)) {
      this.#waiting?.reject(new Error(`an answer without a length: ${head}`));
      return;
    }
    if (this.#said.length < end + 4 + length) return;
    const answer = {
      status: Number(this.#said.slice(9, 12)),
      body: this.#said.slice(end + 4, end + 4 + length),
    };
    this.#said = "";
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answer);
  }

  [Symbol.dispose](): void {
    this.#waiting = undefined;
    this.#socket?.destroy();
  }
}

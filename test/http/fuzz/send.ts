/** Sends HTTP requests as they are, including invalid ones, with a timeout. */
import { Agent, request } from "node:http";

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export interface Sending {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export class Sender implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 });
  readonly #waitMs: number;

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /**
   * Sends a call. Rejects if there is no answer in time. Reads only the first chunk of a stream.
   */
  send({ port, method, path, headers, body }: Sending): Promise<Answer> {
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const sent = { ...headers, ...length };
    return new Promise((resolve, reject) => {
      const outgoing = request(
        { agent: this.#agent, host: "127.0.0.1", port, method, path, headers: sent },
        (incoming) => {
          const type = incoming.headers["content-type"] ?? "";
          const status = incoming.statusCode ?? 0;
          let text = "";
          const end = () => resolve({ status, type, body: text });
          incoming.setEncoding("utf8").on("data", (piece: string) => {
            text += piece;
            if (type.startsWith("text/event-stream")) {
              end();
              outgoing.destroy();
            }
          });
          incoming.once("end", end).once("error", reject);
        },
      );
      outgoing.setTimeout(this.#waitMs, () => outgoing.destroy(new Error("no answer in time")));
      outgoing.once("error", reject);
      outgoing.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Reads the memory of another Node process through its inspector: heaps after a full garbage collection. */

/** Megabytes in use after a full garbage collection. */
export interface Heaps {
  readonly main: number;
  /** Buffers and other memory that JavaScript objects of the main thread hold outside the heap. */
  readonly external: number;
  /** The heaps of all worker threads. */
  readonly threads: number;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

type Send = (method: string, params?: object) => Promise<unknown>;

/** Matches answers to requests of one target: the process, or one of its threads. */
class Requests {
  readonly #post: (text: string) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #next = 1;

  constructor(post: (text: string) => void) {
    this.#post = post;
  }

  readonly send: Send = (method, params = {}) => {
    const id = this.#next++;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    this.#post(JSON.stringify({ id, method, params }));
    return waiting.promise;
  };

  receive({ id = 0, result, error }: Message): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error.message));
  }
}

/** A connection to the inspector of a process that was started with `--inspect`. */
export class Inspector implements Disposable {
  readonly #socket: WebSocket;
  readonly #process: Requests;
  readonly #threads = new Map<string, Requests>();
  #chunks: string[] = [];

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#process = new Requests((text) => socket.send(text));
    socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(String(data))));
  }

  static async connect(address: string): Promise<Inspector> {
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", () => reject(new Error(`no inspector at ${address}`)));
    });
    const inspector = new Inspector(socket);
    await inspector.#process.send("NodeWorker.enable", { waitForDebuggerOnStart: false });
    return inspector;
  }

  async heaps(): Promise<Heaps> {
    const main = await usage(this.#process.send);
    const threads = await Promise.all([...this.#threads.values()].map(({ send }) => usage(send)));
    return {
      main: main.heapUsed / 1e6,
      external: main.external / 1e6,
      threads: threads.reduce((sum, { heapUsed }) => sum + heapUsed, 0) / 1e6,
    };
  }

  /** Returns the heap snapshot of the main thread, as JSON. */
  async snapshot(): Promise<string> {
    this.#chunks = [];
    await this.#process.send("HeapProfiler.takeHeapSnapshot", { reportProgress: false });
    return this.#chunks.join("");
  }

  #receive(message: Message): void {
    const { method, params = {} } = message;
    const session = String(params["sessionId"] ?? "");
    if (method === undefined) this.#process.receive(message);
    else if (method === "HeapProfiler.addHeapSnapshotChunk")
      this.#chunks.push(String(params["chunk"]));
    else if (method === "NodeWorker.attachedToWorker") this.#attach(session);
    else if (method === "NodeWorker.detachedFromWorker") this.#threads.delete(session);
    else if (method === "NodeWorker.receivedMessageFromWorker")
      this.#threads.get(session)?.receive(JSON.parse(String(params["message"])) as Message);
  }

  #attach(sessionId: string): void {
    const post = (message: string) =>
      void this.#process.send("NodeWorker.sendMessageToWorker", { sessionId, message });
    this.#threads.set(sessionId, new Requests(post));
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

async function usage(send: Send): Promise<NodeJS.MemoryUsage> {
  await send("HeapProfiler.collectGarbage");
  const expression = "JSON.stringify(process.memoryUsage())";
  const answer = (await send("Runtime.evaluate", { expression })) as {
    readonly result: { readonly value: string };
  };
  return JSON.parse(answer.result.value) as NodeJS.MemoryUsage;
}

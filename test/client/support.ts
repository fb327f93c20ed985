/**
 * Hubs on real sockets, in this process or in one that can be killed, and a network that loses
 * responses.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { listen } from "../../src/http/listen.ts";
import { type Hub, type HubOptions, openHub } from "../../src/index.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { type Child, startChild } from "../support/child.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";

/** Serves a hub in memory on a free port and returns its address. */
export async function serveHere(options: HubOptions = {}): Promise<string> {
  const listening = await listen(await openLocalHub("memory:", options), {
    port: 0,
    open: "coordinator",
  });
  onTestFinished(() => listening.close());
  return listening.address;
}

export async function open(address: string, options: HubOptions = {}): Promise<Hub> {
  const hub = await openHub(address, options);
  onTestFinished(() => hub.close());
  return hub;
}

/**
 * Longer than a hub takes to restart on a busy machine; the default of 30 seconds may be too short.
 */
const PATIENT: HubOptions = { outageMs: 150_000 };

interface Served {
  readonly address: string;
  readonly child: Child;
}

/** Serves a hub from its own process. */
async function serveElsewhere(file: string): Promise<Served> {
  const said = Promise.withResolvers<string>();
  const child = startChild(new URL("hub-child.ts", import.meta.url), [file], (line) =>
    said.resolve((JSON.parse(line) as { address: string }).address),
  );
  void child.ended.then(({ stderr }) => said.reject(new Error(stderr)));
  return { address: await said.promise, child };
}

/**
 * A hub on a file, in a process that can be killed and restarted at the same address. Starting a
 * process takes most of the time, so tests share one, each in its own workspace.
 */
export class RestartableHub implements AsyncDisposable {
  readonly network: LossyNetwork;
  readonly #folder: TemporaryFolder;
  #served: Served;
  #workspaces = 0;

  private constructor(folder: TemporaryFolder, served: Served, network: LossyNetwork) {
    this.#folder = folder;
    this.#served = served;
    this.network = network;
  }

  static async start(): Promise<RestartableHub> {
    const folder = temporaryFolder();
    const served = await serveElsewhere(folder.file("hub.db"));
    return new RestartableHub(folder, served, await startNetwork(served.address));
  }

  /** Opens the hub in a new workspace. */
  open(): Promise<Hub> {
    const workspace = `w-${this.#workspaces++}`;
    return open(this.network.address, { ...PATIENT, workspace });
  }

  async restart(): Promise<void> {
    this.network.leadTo(undefined); // Another program may get its port once it is gone.
    await this.#kill();
    this.#served = await serveElsewhere(this.#folder.file("hub.db"));
    this.network.leadTo(this.#served.address);
  }

  async #kill(): Promise<void> {
    this.#served.child.kill();
    await this.#served.child.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.network[Symbol.dispose]();
    await this.#kill();
    this.#folder[Symbol.dispose]();
  }
}

export interface LossyNetwork extends Disposable {
  /** Stays the same for every hub it leads to: the port is not released while a hub restarts. */
  readonly address: string;
  /** Routes new connections to this hub; undefined: closes them. */
  leadTo(address: string | undefined): void;
  /**
   * Forwards the next request that contains this text, and drops its response with the connection.
   */
  loseAnswerTo(text: string): void;
  /** Number of responses that were lost. */
  readonly lost: number;
}

/** Starts a network that is closed when the test ends. */
export async function lossyNetwork(address: string): Promise<LossyNetwork> {
  const network = await startNetwork(address);
  onTestFinished(() => network[Symbol.dispose]());
  return network;
}

async function startNetwork(address: string): Promise<LossyNetwork> {
  let to: string | undefined = address;
  let trap: string | undefined;
  let lost = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    if (to === undefined) return void near.destroy();
    const far = connect(Number(new URL(to).port), "127.0.0.1");
    let doomed = false;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {}); // The other end disconnected, which is expected here.
      socket.on("close", () => {
        near.destroy();
        far.destroy();
      });
    }
    near.on("data", (chunk: Buffer) => {
      if (trap !== undefined && chunk.includes(trap)) {
        trap = undefined;
        doomed = true;
      }
      far.write(chunk);
    });
    far.on("data", (chunk: Buffer) => {
      if (!doomed) return void near.write(chunk);
      if (!near.destroyed) lost++; // Counted once, in however many chunks it arrives.
      near.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo(other) {
      to = other;
    },
    loseAnswerTo(text) {
      trap = text;
    },
    get lost() {
      return lost;
    },
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

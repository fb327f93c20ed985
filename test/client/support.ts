/** Hubs on real sockets: in this process, or in one that can be killed; and a network that loses answers. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { listen } from "../../src/http/listen.ts";
import { type Hub, type HubOptions, openHub } from "../../src/index.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { type Child, startChild } from "../support/child.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";

/** A hub in memory, on a port of its own. */
export async function serveHere(options: HubOptions = {}): Promise<string> {
  const listening = await listen(await openLocalHub("memory:", options), { port: 0 });
  onTestFinished(() => listening.close());
  return listening.address;
}

export async function open(address: string, options: HubOptions = {}): Promise<Hub> {
  const hub = await openHub(address, options);
  onTestFinished(() => hub.close());
  return hub;
}

/** Longer than a hub takes to start again on a busy machine: the default of 30 seconds may not be. */
const PATIENT: HubOptions = { patienceMs: 150_000 };

interface Served {
  readonly address: string;
  readonly child: Child;
}

/** A hub in a process of its own. */
async function serveElsewhere(file: string): Promise<Served> {
  const said = Promise.withResolvers<string>();
  const child = startChild(new URL("hub-child.ts", import.meta.url), [file], (line) =>
    said.resolve((JSON.parse(line) as { address: string }).address),
  );
  void child.ended.then(({ stderr }) => said.reject(new Error(stderr)));
  return { address: await said.promise, child };
}

/**
 * A hub on a file, in a process that can be killed and started again at the same address. Starting a process
 * takes longer than all else: tests share one, each in a workspace of its own.
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

  /** In a workspace where nothing is yet. */
  open(): Promise<Hub> {
    const workspace = `w-${this.#workspaces++}`;
    return open(this.network.address, { ...PATIENT, workspace });
  }

  async restart(): Promise<void> {
    this.network.leadTo(undefined); // Once it is gone, its port may be another program's.
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
  /** Stays the same, whichever hub it leads to: the port is not released while a hub restarts. */
  readonly address: string;
  /** From now on, new connections lead to this hub; undefined: they are hung up on. */
  leadTo(address: string | undefined): void;
  /** The next request that says this is carried out, and its answer is lost with the connection. */
  loseAnswerTo(text: string): void;
  /** How many answers were lost. */
  readonly lost: number;
}

/** Gone with the test. */
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
      socket.on("error", () => {}); // The other end went away: that is what this is for.
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
      if (!near.destroyed) lost++; // Once, in however many pieces it comes.
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

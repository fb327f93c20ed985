/** Hubs on real sockets: in this process, or in one that can be killed; and a network that loses answers. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { listen } from "../../src/http/listen.ts";
import { type Hub, type HubOptions, openHub } from "../../src/index.ts";
import { openLocalHub } from "../../src/open-hub.ts";
import { type Child, startChild } from "../support/child.ts";

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

export interface Served {
  readonly address: string;
  readonly port: string;
  readonly child: Child;
}

/** A hub in a process of its own; ended with the test, or before. */
export async function serveElsewhere(file: string, port = "0"): Promise<Served> {
  const said = Promise.withResolvers<string>();
  const child = startChild(new URL("hub-child.ts", import.meta.url), [file, port], (line) =>
    said.resolve((JSON.parse(line) as { address: string }).address),
  );
  onTestFinished(async () => {
    child.kill();
    await child.ended;
  });
  void child.ended.then(({ stderr }) => said.reject(new Error(stderr)));
  const address = await said.promise;
  return { address, port: new URL(address).port, child };
}

export async function kill({ child }: Served): Promise<void> {
  child.kill();
  await child.ended;
}

export interface LossyNetwork {
  readonly address: string;
  /** The next request that says this is carried out, and its answer is lost with the connection. */
  loseAnswerTo(text: string): void;
  /** How many answers were lost. */
  readonly lost: number;
}

export async function lossyNetwork(to: string): Promise<LossyNetwork> {
  let trap: string | undefined;
  let lost = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
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
      lost++;
      near.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseAnswerTo(text) {
      trap = text;
    },
    get lost() {
      return lost;
    },
  };
}

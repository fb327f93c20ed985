/** `baton start` as a process of its own, on a port that is free: what a person starts in a terminal. */
import { pathToFileURL } from "node:url";
import { BATON } from "./build/place.ts";
import { type Child, startChild } from "./child.ts";

export interface StartedHub extends AsyncDisposable {
  readonly address: string;
  readonly child: Child;
}

const MAIN = pathToFileURL(BATON);

/** Ready when it has said where it is. */
export async function startHub(store: string, ...more: string[]): Promise<StartedHub> {
  const said = Promise.withResolvers<string>();
  const args = ["start", "--port", "0", "--json", "--store", store, ...more];
  const child = startChild(MAIN, args, (line) => said.resolve(line));
  const ended = child.ended.then(({ stderr }) => {
    throw new Error(`the hub ended before it was ready: ${stderr}`);
  });
  const { address } = JSON.parse(await Promise.race([said.promise, ended])) as { address: string };
  ended.catch(() => {}); // It may end now.
  return {
    address,
    child,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.ended;
    },
  };
}

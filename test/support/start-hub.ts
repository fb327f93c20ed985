/** `baton start` as a process on a free port, as a person starts it in a terminal. */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { BATON } from "./build/place.ts";
import { type Child, startChild } from "./child.ts";

export interface StartedHub extends AsyncDisposable {
  readonly address: string;
  /** Headers with the token of this start; empty if the hub takes issued tokens only. */
  readonly headers: Readonly<Record<string, string>>;
  /** All that it printed: address, tokenFile, socket, login, … */
  readonly printed: Readonly<Record<string, string>>;
  readonly child: Child;
}

const MAIN = pathToFileURL(BATON);

/** Starts a hub, and resolves when it has printed its address. */
export async function startHub(store: string, ...more: string[]): Promise<StartedHub> {
  const said = Promise.withResolvers<string>();
  const args = ["start", "--port", "0", "--json", "--store", store, ...more];
  const child = startChild(MAIN, args, (line) => said.resolve(line));
  const ended = child.ended.then(({ stderr }) => {
    throw new Error(`the hub ended before it was ready: ${stderr}`);
  });
  const printed = JSON.parse(await Promise.race([said.promise, ended])) as Record<string, string>;
  const { address = "", tokenFile } = printed;
  const headers =
    tokenFile === undefined ? {} : { authorization: `Bearer ${readFileSync(tokenFile, "utf8")}` };
  ended.catch(() => {}); // It may end now.
  return {
    address,
    headers,
    printed,
    child,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.ended;
    },
  };
}

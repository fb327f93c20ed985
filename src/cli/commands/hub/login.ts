/** The command `baton login`: prints an address that signs a browser in to the hub on this machine. */
import { command, JSON_OPTION } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printJson, printLine } from "../../terminal.ts";

export const login = command({
  name: "login",
  summary: "Print an address that signs one browser in to the hub on this machine (works once)",
  args: [],
  options: {
    port: { type: "number", value: "<n>", help: "port of the hub (default: 4747)" },
    ...JSON_OPTION,
  },

  async run({ options: { port, json } }) {
    const { DEFAULT_HOST, DEFAULT_PORT, loginAddress } = await import("../../../http/listen.ts");
    const { localTokenSource } = await import("../../../client/node/local-token.ts");
    const hub = `http://${DEFAULT_HOST}:${port ?? DEFAULT_PORT}`;
    const token = localTokenSource(hub)?.current();
    if (token === undefined) throw await hubNotRunning(hub);
    const address = loginAddress(hub, token);
    if (json) printJson({ address });
    else printLine(address);
    return OK;
  },
});

async function hubNotRunning(hub: string): Promise<Error> {
  const { BatonError } = await import("../../../base/errors.ts");
  return new BatonError("hub_unreachable", {
    message: `No hub that this user started is running at ${hub}.`,
    path: "--port",
    hint: "Start one with baton start, or pass the port of a running one with --port.",
  });
}

/** The command `baton head`: print or record the newest position and link of every chain. */
import type { Hub } from "../../../hub/hub.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { readPrivateKey } from "../../options/key-file.ts";
import { untilSignal } from "../../signals.ts";
import { openExisting } from "../../store.ts";
import { dim, printLine } from "../../terminal.ts";
import { usageError } from "../../usage-error.ts";

export const head = command({
  name: "head",
  summary: "Print the head of every chain, to keep outside the store (see baton verify --expect)",
  args: [],
  options: {
    sign: { type: "text", value: "<keyfile>", help: "sign with this Ed25519 private key (PEM)" },
    out: { type: "text", value: "<file>", help: "append to this file instead of printing" },
    every: { type: "duration", value: "<time>", help: "append on this schedule until Ctrl-C: 1h" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ options }) {
    const { sign, out, every, json, ...choice } = options;
    if (every !== undefined && out === undefined)
      throw usageError("--every", "--every requires --out.", "Add --out <file>.");
    const key = await readPrivateKey("--sign", sign);
    await using hub = await openExisting(choice);
    if (out === undefined) await printHead(hub, key);
    else await recordHeads(hub, { file: out, key, everyMs: every }, json === true);
    return OK;
  },
});

async function printHead(hub: Hub, key: string | undefined): Promise<void> {
  const { signHead } = await import("../../../archive/heads.ts");
  const now = await hub.archive.head();
  printLine(JSON.stringify(key === undefined ? now : signHead(now, key)));
}

interface Recording {
  readonly file: string;
  readonly key: string | undefined;
  readonly everyMs: number | undefined;
}

async function recordHeads(hub: Hub, recording: Recording, json: boolean): Promise<void> {
  const { HeadLog } = await import("../../../archive/head-log.ts");
  const onError = (error: unknown) =>
    process.stderr.write(`A head was not written: ${(error as Error).message}\n`);
  const log = new HeadLog(() => hub.archive.head(), { ...recording, onError });
  const written = await log.write();
  if (json) printLine(JSON.stringify(written));
  else printLine(`Appended the head of ${written.records} records to ${recording.file}.`);
  if (recording.everyMs === undefined) return;
  if (!json) printLine(dim("Press Ctrl-C to stop."));
  await untilSignal();
  await log.close();
}

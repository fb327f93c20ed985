/**
 * The systems Baton is compared with: dependencies of this folder alone, installed when a
 * benchmark first needs them. This file stands here so that Node finds them from it.
 */
import { installReason, setUp } from "../../scripts/run.mjs";

const FOLDER = import.meta.dirname;

export async function installPeers(): Promise<void> {
  if (installReason(FOLDER) === undefined) return;
  process.stderr.write("bench/peers has the systems Baton is compared with.\n");
  await setUp(FOLDER);
}

/** `T` is what the benchmark uses of it: types are checked without the package being there. */
export async function loadPeer<T>(name: string): Promise<T> {
  return (await import(name)) as T;
}

/**
 * Loads the systems that Baton is compared with. They are dependencies of this folder only and are
 * installed when a benchmark first needs them. Node resolves them because this file is in the
 * folder.
 */
import { installReason, setUp } from "../../scripts/run.mjs";

const FOLDER = import.meta.dirname;

export async function installPeers(): Promise<void> {
  if (installReason(FOLDER) === undefined) return;
  process.stderr.write("Installing the systems that Baton is compared with into bench/peers.\n");
  await setUp(FOLDER);
}

/** Imports a peer. `T` declares the part that is used, so that types check without the package. */
export async function loadPeer<T>(name: string): Promise<T> {
  return (await import(name)) as T;
}

/** Opening the store a command was told to use. */
import { existsSync } from "node:fs";
import { BatonError } from "../errors.ts";
import type { Hub, HubOptions } from "../hub.ts";

export interface StoreChoice {
  readonly store?: string | undefined;
  readonly workspace?: string | undefined;
}

/** Opens it, making it where it does not exist. */
export async function openStore(
  { store, workspace }: StoreChoice,
  options: HubOptions = {},
): Promise<Hub> {
  const { openHub } = await import("../open-hub.ts"); // Brings the validator along: 100 ms.
  return openHub(store, { ...options, ...(workspace === undefined ? {} : { workspace }) });
}

/** Opens it for looking: a mistyped path must not leave an empty store behind. */
export async function openExisting(choice: StoreChoice): Promise<Hub> {
  const address = await addressOf(choice);
  const file = address.startsWith("sqlite:") ? address.slice("sqlite:".length) : undefined;
  if (file !== undefined && file !== "" && !existsSync(file)) {
    throw new BatonError("store_unavailable", {
      message: `There is no store at ${file} yet.`,
      path: file,
      hint: "Name another with --store sqlite:<path>, or let baton demo make one.",
    });
  }
  return openStore({ ...choice, store: address });
}

/** The address that `openHub` would choose. */
export async function addressOf({ store }: StoreChoice): Promise<string> {
  const { defaultFile } = await import("../open-hub.ts");
  return (store ?? process.env["BATON_STORE"]) || `sqlite:${defaultFile(process.cwd())}`;
}

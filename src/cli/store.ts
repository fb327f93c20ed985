/** Opening the store a command was told to use. */
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

/** Opens it for looking: a mistyped address must not leave an empty store behind. */
export function openExisting(choice: StoreChoice): Promise<Hub> {
  return openStore(choice, { create: false });
}

/** The address that `openHub` would choose. */
export async function addressOf({ store }: StoreChoice): Promise<string> {
  const { defaultFile } = await import("../open-hub.ts");
  return (store ?? process.env["BATON_STORE"]) || `sqlite:${defaultFile(process.cwd())}`;
}

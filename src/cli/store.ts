/** Opening the store a command was told to use. */
import type { Hub, LocalHub } from "../hub/hub.ts";
import type { HubOptions } from "../hub/options.ts";

export interface StoreChoice {
  readonly store?: string | undefined;
  readonly workspace?: string | undefined;
}

/** Opens it, making it where it does not exist. */
export async function openStore(
  { store, workspace }: StoreChoice,
  options: HubOptions = {},
): Promise<Hub> {
  const { openHub } = await import("../open/open-hub.ts"); // Brings the validator along: 100 ms.
  return openHub(store, { ...options, ...(await optionsOf(workspace)) });
}

/** Opens it in this process, for a server to stand on. */
export async function openLocal({ store, workspace }: StoreChoice): Promise<LocalHub> {
  const { resolveAddress: chosenAddress, openLocalHub } = await import("../open/open-hub.ts");
  return openLocalHub(chosenAddress(store), await optionsOf(workspace));
}

/** What the environment and the command line say of the hub. */
async function optionsOf(workspace: string | undefined): Promise<HubOptions> {
  return {
    ...embedderNamed(process.env),
    ...(await summarizerNamed(process.env)),
    ...(workspace === undefined ? {} : { workspace }),
  };
}

/**
 * Another embedder than the bundled words: BATON_EMBEDDER_URL (http://localhost:11434/v1) with
 * BATON_EMBEDDER_MODEL, and BATON_EMBEDDER_KEY where the server wants one; or "none". Asked for when a
 * question is.
 */
function embedderNamed(environment: NodeJS.ProcessEnv): Pick<HubOptions, "embedder"> {
  const { BATON_EMBEDDER_URL: url, BATON_EMBEDDER_KEY: apiKey } = environment;
  if (url === undefined || url === "") return {};
  if (url === "none") return { embedder: false };
  const model = environment["BATON_EMBEDDER_MODEL"] ?? "";
  return {
    embedder: async () =>
      (await import("../search/embedding/http-embedder.ts")).httpEmbedder({
        url,
        model,
        ...(apiKey === undefined ? {} : { apiKey }),
      }),
  };
}

/**
 * What summarizes records: BATON_SUMMARIZER_URL (http://localhost:11434/v1) with BATON_SUMMARIZER_MODEL,
 * and BATON_SUMMARIZER_KEY where the server wants one. Without them nothing is sent anywhere.
 */
async function summarizerNamed(
  environment: NodeJS.ProcessEnv,
): Promise<Pick<HubOptions, "summarizer">> {
  const { BATON_SUMMARIZER_URL: url, BATON_SUMMARIZER_KEY: apiKey } = environment;
  if (url === undefined || url === "") return {};
  const model = environment["BATON_SUMMARIZER_MODEL"] ?? "";
  const { httpSummarizer } = await import("../context/detail/http-summarizer.ts");
  return {
    summarizer: httpSummarizer({ url, model, ...(apiKey === undefined ? {} : { apiKey }) }),
  };
}

/** Opens it for looking: a mistyped address must not leave an empty store behind. */
export function openExisting(choice: StoreChoice): Promise<Hub> {
  return openStore(choice, { create: false });
}

/** The address that `openHub` would choose. */
export async function addressOf({ store }: StoreChoice): Promise<string> {
  const { resolveAddress: chosenAddress } = await import("../open/open-hub.ts");
  return chosenAddress(store || undefined);
}

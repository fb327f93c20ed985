/** Opens the store that a command uses: --store, BATON_STORE or the default, with embedder and summarizer. */
import type { Hub, LocalHub } from "../hub/hub.ts";
import type { HubOptions } from "../hub/options.ts";

/** The values of --store and --workspace; undefined: the defaults. */
export interface StoreChoice {
  readonly store?: string | undefined;
  readonly workspace?: string | undefined;
}

/** Opens the store and creates it if it does not exist. */
export async function openStore(
  { store, workspace }: StoreChoice,
  options: HubOptions = {},
): Promise<Hub> {
  const { openHub } = await import("../open/open-hub.ts"); // Loads the validator, which takes 100 ms.
  return openHub(store, { ...options, ...(await optionsOf(workspace)) });
}

/** Opens the store in this process, for the server. */
export async function openLocal(
  { store, workspace }: StoreChoice,
  options: HubOptions = {},
): Promise<LocalHub> {
  const { resolveAddress: chosenAddress, openLocalHub } = await import("../open/open-hub.ts");
  return openLocalHub(chosenAddress(store), { ...options, ...(await optionsOf(workspace)) });
}

/** Returns the hub options set by environment variables and the command line. */
async function optionsOf(workspace: string | undefined): Promise<HubOptions> {
  return {
    ...embedderNamed(process.env),
    ...(await summarizerNamed(process.env)),
    ...(workspace === undefined ? {} : { workspace }),
  };
}

/**
 * Returns the embedder that replaces the bundled one: BATON_EMBEDDER_URL (http://localhost:11434/v1) with
 * BATON_EMBEDDER_MODEL, and BATON_EMBEDDER_KEY if the server requires one. BATON_EMBEDDER_URL=none turns
 * embeddings off. The embedder is loaded by the first recall.
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
 * Returns the summarizer of records: BATON_SUMMARIZER_URL (http://localhost:11434/v1) with
 * BATON_SUMMARIZER_MODEL, and BATON_SUMMARIZER_KEY if the server requires one. Without BATON_SUMMARIZER_URL
 * no record is sent to a server.
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

/** Opens an existing store, else throws, so that a mistyped address does not create an empty store. */
export function openExisting(choice: StoreChoice): Promise<Hub> {
  return openStore(choice, { create: false });
}

/**
 * Opens an existing store for a command that shows deliveries or tasks. A store that is opened directly may
 * have had no open hub for a while: what is overdue is carried out first, and reported on stderr.
 */
export async function openUpToDate(choice: StoreChoice): Promise<Hub> {
  const hub: Hub & Partial<Pick<LocalHub, "carryOutDue">> = await openExisting(choice);
  try {
    const count = (await hub.carryOutDue?.()) ?? 0;
    if (count > 0) process.stderr.write(`${overdueText(count)}\n`);
    return hub;
  } catch (error) {
    await hub.close();
    throw error;
  }
}

const overdueText = (count: number): string =>
  count === 1
    ? "Carried out 1 overdue timeout or retry."
    : `Carried out ${count} overdue timeouts and retries.`;

/** Returns the address that `openHub` would open. */
export async function addressOf({ store }: StoreChoice): Promise<string> {
  const { resolveAddress: chosenAddress } = await import("../open/open-hub.ts");
  return chosenAddress(store || undefined);
}

/** The command `baton hook`, which harnesses run. Errors are logged and never block the session. */
import { BatonError } from "../../../base/errors.ts";
import { HARNESSES, type Harness } from "../../../harness/harness-events.ts";
import type { Hook } from "../../../harness/hook.ts";
import { command, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printLine } from "../../terminal.ts";

/** Maximum wait for the store, because the harness waits for its hook. */
const BUSY_MS = 2_000;
/** Maximum total time of a hook, below the timeouts of the harnesses. */
const HOOK_TIMEOUT_MS = 5_000;
/** Maximum input that is read; larger than the input of any harness. */
const INPUT_BYTES = 64 * 1024 * 1024;

export const hook = command({
  name: "hook",
  summary: "Run a hook of a harness (installed by baton setup); never blocks the session",
  args: [
    { name: "harness", help: "harness that runs the hook", choices: HARNESSES },
    { name: "event", help: "event as the harness names it: SessionStart, …" },
  ],
  options: {
    as: {
      type: "text",
      value: "<agent>",
      help: "agent that acts (default: the name of the harness)",
    },
    tokens: {
      type: "number",
      value: "<n>",
      help: "token budget of the text for the model (default: 2000)",
    },
    strict: { type: "flag", help: "exit with an error instead of only reporting it" },
    ...STORE_OPTIONS,
  },

  async run({ args: [harness = "", event = ""], options }) {
    const { as = harness, tokens, strict, ...choice } = options;
    const asked = { harness: harness as Harness, event, as, tokens };
    let file: string | undefined;
    try {
      const { existsSync } = await import("node:fs");
      const {
        defaultStoreFile: defaultFile,
        fileOf,
        storeMissing,
      } = await import("../../../base/files/store-file.ts");
      const named = (choice.store ?? process.env["BATON_STORE"]) || undefined;
      file = fileOf(named ?? `sqlite:${defaultFile(process.cwd())}`);
      const { parseHookInput: readInput } = await import("../../../harness/hook-input.ts");
      const input = readInput(asked.harness, event, await standardInput());
      // The session's folder can differ from the folder of this process.
      const store = named ?? `sqlite:${defaultFile(input.cwd)}`;
      file = fileOf(store);
      // Checked before the hub is loaded, because a user-level hook runs in every project.
      if (file !== undefined && !existsSync(file)) throw storeMissing(file);
      const answered = answer({ ...choice, store }, { ...asked, input });
      await (strict ? answered : withTimeout(answered));
      return OK;
    } catch (error) {
      if (strict) throw error;
      // The session continues without Baton; baton doctor reports the recorded error.
      const { recordHookError: countTrouble, oneLineMessage: sentence } = await import(
        "../../../harness/hook-error-log.ts"
      );
      process.stderr.write(`baton hook ${harness} ${event}: ${sentence(error)}\n`);
      if (file !== undefined) countTrouble(file, { harness, event }, error);
      if (error instanceof HookTimeout) process.exit(OK); // Abandons the pending call.
      return OK;
    }
  },
});

type HookRequest = Omit<Hook, "tokens"> & { readonly tokens: number | undefined };

async function answer(
  choice: { readonly store: string; readonly workspace?: string | undefined },
  asked: HookRequest,
): Promise<void> {
  const [{ openStore }, { answerHook }, { DEFAULT_TOKENS }] = await Promise.all([
    import("../../store.ts"),
    import("../../../harness/hook.ts"),
    import("../../../harness/session-context.ts"),
  ]);
  const outage = /^https?:/i.test(choice.store)
    ? { outageMs: BUSY_MS }
    : { limits: { busyMs: BUSY_MS } };
  await using hub = await openStore(choice, { create: false, ...outage });
  await answerHook(hub, { ...asked, tokens: asked.tokens ?? DEFAULT_TOKENS }, printLine);
}

class HookTimeout extends BatonError {
  constructor() {
    super("store_busy", {
      message: `The store did not answer within ${HOOK_TIMEOUT_MS / 1_000} seconds.`,
      hint: "Check the hub: baton doctor",
    });
  }
}

/** Rejects after HOOK_TIMEOUT_MS, because a hub can accept a call and never answer it. */
async function withTimeout(answered: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new HookTimeout()), HOOK_TIMEOUT_MS);
  try {
    await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function standardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > INPUT_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

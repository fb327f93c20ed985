import { BatonError } from "../../../base/errors.ts";
import { HARNESSES, type Harness } from "../../../harness/harness-events.ts";
import type { Hook } from "../../../harness/hook.ts";
import { command, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printLine } from "../../terminal.ts";

/** A harness waits for its hook: who has to wait for the store this long does without. */
const BUSY_MS = 2_000;
/** Whatever it waits for: before the harness loses patience. */
const HOOK_TIMEOUT_MS = 5_000;
/** More than any harness tells a hook; beyond it nothing is read. */
const INPUT_BYTES = 64 * 1024 * 1024;

export const hook = command({
  name: "hook",
  summary: "answers a hook of a harness (baton setup installs them); never stands in its way",
  args: [
    { name: "harness", help: "who runs the hook", choices: HARNESSES },
    { name: "event", help: "what happened, as the harness calls it: SessionStart, …" },
  ],
  options: {
    as: { type: "text", value: "<agent>", help: "in whose name; else the harness's own" },
    tokens: { type: "number", value: "<n>", help: "of what the model is told; else 2000" },
    strict: { type: "flag", help: "fails when something is wrong, instead of saying so only" },
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
      } = await import("../../../base/store-file.ts");
      const named = (choice.store ?? process.env["BATON_STORE"]) || undefined;
      file = fileOf(named ?? `sqlite:${defaultFile(process.cwd())}`);
      const { parseHookInput: readInput } = await import("../../../harness/hook-input.ts");
      const input = readInput(asked.harness, event, await standardInput());
      // In the folder of the session, which need not be this process's.
      const store = named ?? `sqlite:${defaultFile(input.cwd)}`;
      file = fileOf(store);
      // Before all that a hub brings along: a hook of the user's runs in every project.
      if (file !== undefined && !existsSync(file)) throw storeMissing(file);
      const answered = answer({ ...choice, store }, { ...asked, input });
      await (strict ? answered : withTimeout(answered));
      return OK;
    } catch (error) {
      if (strict) throw error;
      // Whatever it is: the session goes on without us, and whoever looks finds out why.
      const { recordHookError: countTrouble, oneLineMessage: sentence } = await import(
        "../../../harness/hook-error-log.ts"
      );
      process.stderr.write(`baton hook ${harness} ${event}: ${sentence(error)}\n`);
      if (file !== undefined) countTrouble(file, { harness, event }, error);
      if (error instanceof HookTimeout) process.exit(OK); // Nobody waits for what is under way.
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
  const patience = /^https?:/i.test(choice.store)
    ? { patienceMs: BUSY_MS }
    : { limits: { busyMs: BUSY_MS } };
  await using hub = await openStore(choice, { create: false, ...patience });
  await answerHook(hub, { ...asked, tokens: asked.tokens ?? DEFAULT_TOKENS }, printLine);
}

class HookTimeout extends BatonError {
  constructor() {
    super("store_busy", {
      message: `The store did not answer within ${HOOK_TIMEOUT_MS / 1_000} seconds.`,
      hint: "Look whether the hub is well: baton doctor",
    });
  }
}

/** A hub can take a call and leave it unanswered. */
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

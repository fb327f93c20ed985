/**
 * Conventions of the whole command line: suggestions for typos, exit codes, colours and progress.
 */
import { describe, expect, it, vi } from "vitest";
import type { Command } from "../../src/cli/command.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { dispatch } from "../../src/cli/dispatch.ts";
import { BUG } from "../../src/cli/exit.ts";
import { parseCall } from "../../src/cli/parse.ts";
import { printError } from "../../src/cli/render/error.ts";
import { BatonError, ERROR_CODES, type ErrorCode } from "../../src/index.ts";
import { refusal } from "../support/hub/support.ts";
import { baton, batonFromSources, testStore } from "./baton.ts";

/** Swaps two adjacent letters, which is the most common typo. */
function mistyped(word: string): string {
  const at = [...word].findIndex((letter, i) => i > 0 && letter !== word[i + 1]);
  return `${word.slice(0, at)}${word[at + 1] ?? ""}${word[at]}${word.slice(at + 2)}`;
}

/** Returns whether a word is long enough to test: shorter ones are close to too many others. */
const isLong = (word: string): boolean => word.length > 4;

/** Parses an invalid call. Rejects with its error, or with a plain Error if the call was valid. */
const parse = (command: Command, words: readonly string[]): Promise<never> =>
  Promise.resolve().then(() => {
    throw new Error(`was understood: ${JSON.stringify(parseCall(command, words))}`);
  });

describe("a typo", () => {
  it("in a command suggests the command [OPS-7]", async () => {
    for (const { name } of COMMANDS) {
      const words = name.split(" ");
      const last = words.at(-1) ?? "";
      if (!isLong(last)) continue;
      const slip = [...words.slice(0, -1), mistyped(last)];
      // If the first word is a command itself, an unknown second word may be an argument.
      if (words.length === 2 && COMMANDS.some((each) => each.name === words[0])) continue;
      const { code, hint } = await refusal(dispatch(slip));
      expect({ slip, code }).toEqual({ slip, code: "invalid_input" });
      expect(hint, slip.join(" ")).toContain(name);
    }
  });

  it("in an option suggests the option [OPS-7]", async () => {
    for (const command of COMMANDS) {
      for (const option of Object.keys(command.options).filter(isLong)) {
        const slip = `--${mistyped(option)}`;
        const { path, hint } = await refusal(parse(command, [slip]));
        expect({ path, hint: hint.includes(`--${option}`) ? option : hint }).toEqual({
          path: slip,
          hint: option,
        });
      }
    }
  });

  it("in a value with fixed choices suggests the choice [OPS-7]", async () => {
    const inOptions = COMMANDS.flatMap((command) =>
      Object.entries(command.options).flatMap(([option, spec]) =>
        (spec.type === "text" ? (spec.choices ?? []) : []).filter(isLong).map((choice) => ({
          command,
          words: [`--${option}`, mistyped(choice)],
          choice,
        })),
      ),
    );
    const inArguments = COMMANDS.flatMap((command) => {
      const at = command.args.findIndex(({ choices }) => choices !== undefined);
      return (command.args[at]?.choices ?? []).filter(isLong).map((choice) => {
        const needed = Object.entries(command.options).flatMap(([option, spec]) =>
          spec.type !== "flag" && spec.required ? [`--${option}`, "1"] : [],
        );
        return { command, words: [...Array(at).fill("x"), mistyped(choice), ...needed], choice };
      });
    });
    expect(inOptions.length).toBeGreaterThan(5);
    expect(inArguments.length).toBeGreaterThan(5);
    for (const { command, words, choice } of [...inOptions, ...inArguments]) {
      const { hint } = await refusal(parse(command, words));
      expect(hint, `${command.name} ${words.join(" ")}`).toContain(choice);
    }
  });
});

describe("an error", () => {
  /** Prints an error. Returns its exit code and what was written to stderr. */
  function printAndCapture(
    error: unknown,
    json: boolean,
  ): { readonly code: number; readonly text: string } {
    let text = "";
    const stderr = vi.spyOn(process.stderr, "write").mockImplementation((chunk) => {
      text += String(chunk);
      return true;
    });
    try {
      return { code: printError(error, json), text };
    } finally {
      stderr.mockRestore();
    }
  }

  it.each(Object.keys(ERROR_CODES) as ErrorCode[])(
    "exits with the code of the error table, and prints message, path and hint: %s [OPS-7]",
    (code) => {
      const error = new BatonError(code, { message: "It broke.", path: "here", hint: "Mend it." });
      const { exit } = ERROR_CODES[code];
      expect(exit).toBeGreaterThan(0);
      expect(exit).toBeLessThan(126); // Shells reserve higher codes.
      const people = printAndCapture(error, false);
      expect(people.code).toBe(exit);
      expect(people.text).toMatch(/error It broke\.\n +at here\n +hint \S/);
      const wire = printAndCapture(error, true);
      expect(wire.code).toBe(exit);
      expect(JSON.parse(wire.text)).toMatchObject({ code, message: "It broke.", path: "here" });
    },
  );

  it("that is not a BatonError is reported as a bug, with its stack [OPS-7]", () => {
    const { code, text } = printAndCapture(new TypeError("x is not a function"), true);
    expect(code).toBe(BUG);
    expect(text).toMatch(
      /^Internal error; please report this bug:\nTypeError: x is not a function\n +at /,
    );
  });
});

/** Makes both outputs look like a terminal of 80 columns, outside CI unless CI is set. */
const TERMINAL = `data:text/javascript,${encodeURIComponent(`
  import { WriteStream } from "node:tty";
  if (process.env.CI === "") delete process.env.CI;
  for (const stream of [process.stdout, process.stderr]) {
    Object.assign(stream, { isTTY: true, columns: 80 });
    stream.getColorDepth = WriteStream.prototype.getColorDepth;
  }`)}`;

describe("terminal output", () => {
  const TERM = { TERM: "xterm-256color" };
  const onTerminal = (words: readonly string[], env: Readonly<Record<string, string>>) =>
    baton(words, { node: ["--import", TERMINAL], env: { CI: "", ...TERM, ...env } });

  it("has colours, except with NO_COLOR, FORCE_COLOR=0, TERM=dumb or a pipe [OPS-7]", async () => {
    const colours = async (env: Readonly<Record<string, string>>) =>
      (await onTerminal(["nope"], env)).stderr.includes("\u001b[31m");
    const piped = { CI: "true", GITHUB_ACTIONS: "true", ...TERM };
    const [watched, ...others] = await Promise.all([
      colours({}),
      colours({ NO_COLOR: "1" }),
      colours({ FORCE_COLOR: "0" }),
      colours({ TERM: "dumb" }),
      baton(["nope"], { env: piped }).then(({ stderr }) => stderr.includes("\u001b")),
    ]);
    expect(watched).toBe(true);
    expect(others).toEqual([false, false, false, false]);
  });

  it("shows progress, except in a pipe, in CI or on a dumb terminal [OPS-7]", async () => {
    using store = testStore();
    {
      await using hub = await store.open();
      const writer = await hub.agent("writer", { role: "writer" });
      for (let n = 0; n < 3; n++) {
        await writer.remember(Array.from({ length: 400 }, (_, i) => ({ content: `${n} ${i}` })));
      }
    }
    const out = (name: string) => ["export", `${store.file}.${name}`, "--store", store.address];
    const [watched, json, build, plain, piped] = await Promise.all([
      onTerminal(out("watched"), {}),
      onTerminal([...out("json"), "--json"], {}),
      onTerminal(out("build"), { CI: "true" }),
      onTerminal(out("plain"), { TERM: "dumb" }),
      baton(out("piped")),
    ]);
    expect(watched.stderr).toMatch(/\rexporting █+░* \d+ %/);
    expect(watched.stderr.endsWith("\r\u001b[K")).toBe(true);
    expect([build, plain, piped].map(({ stderr }) => stderr)).toEqual(["", "", ""]);
    expect(JSON.parse(json.stdout)).toMatchObject({ file: `${store.file}.json` });
  });
});

it("baton --version loads only five modules [OPS-7]", async () => {
  const listing = `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from "node:module";
    registerHooks({ load(url, context, next) { console.error(url); return next(url, context); } });`)}`;
  const { stderr } = await batonFromSources(["--version"], { node: ["--import", listing] });
  const own = stderr.split("\n").filter((url) => url.startsWith("file:"));
  expect(own.map((url) => url.replace(/.*\/src\//, "")).sort()).toEqual([
    "base/errors.ts",
    "base/version.ts",
    "cli/exit.ts",
    "cli/main.ts",
    "cli/run.ts",
  ]);
});

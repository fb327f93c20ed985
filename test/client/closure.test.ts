/** What `batonpass/client` loads: no store, no hub, no package, and in browsers nothing of Node. */
import { execFile, execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { transformSync } from "rolldown/utils";
import { describe, expect, it } from "vitest";
import { BUILD_URL } from "../support/build/place.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { bundledClient, programWith } from "./bundled-client.ts";
import { serveHere } from "./support.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");

/** Limit of files of src/ that the client loads. Measured: 68. */
const MOST_FILES = 69;
/** Limit in bytes, minified and compressed: 5 % above the measured sizes (27,698 and 25,063). */
const MOST_BYTES = { index: 29_100, browser: 26_400 };

const IMPLEMENTATION = /^(store|memory|context|search|text|workspace|coordination|archive)\//;
/** The only files of delivery/ that the client loads: options and checks that both sides share. */
const SHARED_CHECKS = [
  "delivery/receive/receive-options.ts",
  "delivery/receive/worker.ts",
  "delivery/send/expected-outputs.ts",
  "delivery/watch/wait-options.ts",
  "delivery/work/effect-arguments.ts",
];
/** Functions that are newer than Node 20. */
const NEWER =
  /\b(?:Promise\.(?:withResolvers|try)|(?:Map|Object)\.groupBy|Array\.fromAsync|RegExp\.escape|Uint8Array\.fromBase64)\b/;

describe.each(["index", "browser"] as const)("src/client/%s.ts", (entry) => {
  it("loads no store, no hub and no package", async () => {
    const { files, packages } = await bundledClient(entry);
    expect(packages).toEqual([]);
    expect(files.filter((file) => IMPLEMENTATION.test(file))).toEqual([]);
    expect(files.filter((file) => file.startsWith("delivery/"))).toEqual(SHARED_CHECKS);
    expect(files).not.toContain("hub/hub.ts");
    expect(files.length).toBeLessThanOrEqual(MOST_FILES);
  });

  it("stays below its size limit", async () => {
    const { code } = await bundledClient(entry);
    expect(gzipSync(code).length).toBeLessThanOrEqual(MOST_BYTES[entry]);
  });

  it("uses no syntax and no function newer than Node 20", async () => {
    const { code } = await bundledClient(entry);
    const as = (target: string) => transformSync("client.js", code, { target }).code;
    expect(as("es2022") === as("esnext")).toBe(true);
    expect(code).not.toMatch(NEWER);
  });
});

describe("the client in browsers", () => {
  it("has no dynamic imports", async () => {
    expect((await bundledClient("browser")).later).toEqual([]);
    expect((await bundledClient("index")).later).not.toEqual([]);
  });
});

/** The first Node 20 on the PATH. */
const node20 = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "node"))
  .find((file) => {
    try {
      return execFileSync(file, ["--version"], { encoding: "utf8" }).startsWith("v20.");
    } catch {
      return false;
    }
  });

describe("the built client", () => {
  it.skipIf(node20 === undefined)(
    "sends and completes a handoff on Node 20 (skipped: none on the PATH)",
    async () => {
      using folder = temporaryFolder();
      const program = folder.file("program.mjs");
      const source = programWith(
        `${process.env[BUILD_URL]}/dist/client/index.js`,
        await serveHere(),
      );
      writeFileSync(program, `${source}console.log(JSON.stringify(answer));`);
      const { stdout, stderr } = await run(node20 as string, [program], { cwd: ROOT });
      expect(JSON.parse(stdout)).toEqual({
        kind: "completed",
        primer: true,
        read: "Tokens expire after an hour.",
        result: "v1",
        refused: "invalid_input",
        files: "file",
      });
      expect(stderr).toBe("");
    },
  );
});

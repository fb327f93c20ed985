/**
 * `batonpass/client` in a real browser: a page of another origin sends, accepts and completes a
 * handoff.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import chromium from "@sparticuz/chromium";
import { type Browser, chromium as launcher } from "playwright-core";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../../src/http/listen.ts";
import { openLocalHub } from "../../src/open/open-hub.ts";
import { bundledClient, programWith } from "./bundled-client.ts";

/** Arguments of a normal browser: one process for each page, and separate origins. */
const ARGS = chromium.args.filter(
  (arg) => !/single-process|web-security|insecure|isolat/i.test(arg),
);

const started = await start();
afterAll(() => started.browser?.close());

async function start(): Promise<{ readonly browser?: Browser; readonly why: string }> {
  try {
    const executablePath = await chromium.executablePath();
    const browser = await launcher.launch({ executablePath, args: ARGS, timeout: 30_000 });
    return { browser, why: "" };
  } catch (error) {
    return { why: (error as Error).message.split("\n")[0] ?? "" };
  }
}

/** Runs the program in a page, against a hub that allows `origins`, and returns its result. */
async function answerOfPage(origins: (origin: string) => readonly string[]): Promise<unknown> {
  const { code } = await bundledClient("browser");
  let program = "";
  const server = createServer(({ url }, response) => {
    const isPage = url === "/";
    response.setHeader("content-type", isPage ? "text/html" : "text/javascript");
    if (isPage)
      response.end(`<script type="module">${program}globalThis.answer = answer;</script>`);
    else response.end(code);
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const listening = await listen(await openLocalHub("memory:"), {
    port: 0,
    open: "coordinator",
    origins: origins(origin),
  });
  onTestFinished(() => listening.close());
  program = programWith("/client.js", listening.address).replace("export const", "const");
  const page = await (started.browser as Browser).newPage();
  onTestFinished(() => page.close());
  await page.goto(origin);
  await page.waitForFunction("globalThis.answer");
  return page.evaluate("globalThis.answer");
}

describe.skipIf(started.browser === undefined)(
  `a page in Chromium${started.why && ` (skipped: it did not start: ${started.why})`}`,
  () => {
    it("sends, accepts and completes a handoff", async () => {
      expect(await answerOfPage((origin) => [origin])).toEqual({
        kind: "completed",
        primer: true,
        read: "Tokens expire after an hour.",
        result: "v1",
        refused: "invalid_input",
        files: "dependency_missing",
      });
    });

    it("cannot call a hub that does not allow its origin", async () => {
      expect(await answerOfPage(() => [])).toMatchObject({ code: "hub_unreachable" });
    });
  },
);

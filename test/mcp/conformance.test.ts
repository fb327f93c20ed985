/**
 * The conformance suite of the MCP project, run against the real server over HTTP, with the
 * fixtures it needs registered besides Baton's tools.
 */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { open, tempFolder } from "../support/hub/support.ts";
import { ROOT } from "../support/run-script.ts";
import { EXPECTED_FAILURES } from "./conformance/expected-failures.ts";
import { fixtureServer } from "./conformance/fixtures.ts";
import { listen, throughHub } from "./listen.ts";

const SUITE = join(ROOT, "node_modules/@modelcontextprotocol/conformance");

/** Returns the scenarios that a revision requires of a server, as the suite lists them. */
function requiredAt(revision: string): string[] {
  const text = readFileSync(join(SUITE, "requirements", `${revision}.yaml`), "utf8");
  const [, section = ""] = /^server:\n((?: {2}- .*\n)+)/m.exec(text) ?? [];
  return [...section.matchAll(/- (.+)/g)].map(([, name = ""]) => name);
}

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** Runs the suite. Returns the problems of each scenario. */
async function runSuite(url: URL, which: readonly string[]): Promise<Map<string, string[]>> {
  const folder = tempFolder();
  const bin = join(SUITE, "dist/index.js");
  const args = ["server", "--url", url.href, ...which, "--timeout", "120000", "-o", folder];
  // Exits with 1 when a required check fails; the reports have the details.
  await promisify(execFile)(process.execPath, [bin, ...args], { maxBuffer: 2 ** 26 }).catch(
    (error: { readonly code?: unknown }) => expect(error.code).toBe(1),
  );
  const reports = readdirSync(folder).map((name): [string, string[]] => {
    const checks = JSON.parse(readFileSync(join(folder, name, "checks.json"), "utf8")) as Check[];
    const wrong = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\dZ-]+$/, "");
    return [scenario, wrong.map(({ id, errorMessage }) => `${id}: ${errorMessage}`)];
  });
  return new Map(reports);
}

describe.each(Object.entries(EXPECTED_FAILURES))("conformance to %s", (revision, expected) => {
  it("passes every scenario except those listed with a reason [OPS-7]", async () => {
    const hub = await open("memory:");
    const { url, close } = await listen(hub, { server: fixtureServer });
    onTestFinished(close);
    const found = await runSuite(url, ["--requirements", revision]);
    const required = requiredAt(revision);
    expect(required.length).toBeGreaterThan(25);
    expect([...found.keys()]).toEqual(expect.arrayContaining(required));
    const unexpected = [...found].filter(([name, wrong]) => wrong.length > 0 && !expected[name]);
    expect(Object.fromEntries(unexpected)).toEqual({});
    const stale = Object.keys(expected).filter((name) => found.get(name)?.length === 0);
    expect(stale, "listed as failing, but passing").toEqual([]);
  }, 240_000);

  it("lists a reason for each exception", () => {
    for (const reason of Object.values(expected)) expect(reason).toMatch(/\w+ \w+.*\.$/);
  });
});

it("2026-07-28 has no exception among its required scenarios [OPS-7]", () => {
  const excused = Object.keys(EXPECTED_FAILURES["2026-07-28"] ?? {});
  expect(requiredAt("2026-07-28").filter((name) => excused.includes(name))).toEqual([]);
});

/** Number of scenarios run in parallel; each is a process that mostly waits. */
const AT_ONCE = 3;

/** Scenarios that need no fixture. */
const BARE = [
  "caching",
  "dns-rebinding-protection",
  "http-header-validation",
  "input-required-result-unsupported-methods",
  "prompts-list",
  "resources-list",
  "sep-2164-resource-not-found",
  "server-sse-multiple-streams",
  "tools-list",
];

it("a hub passes the scenarios that need no fixture [OPS-7]", async () => {
  const { url, close } = await throughHub();
  onTestFinished(close);
  const found = async (scenario: string): Promise<void> => {
    const which = ["--scenario", scenario, "--spec-version", "2026-07-28"];
    const reports = await runSuite(new URL(`${url}/guest`), which);
    expect([...reports]).toEqual([[scenario, []]]);
  };
  for (let at = 0; at < BARE.length; at += AT_ONCE) {
    await Promise.all(BARE.slice(at, at + AT_ONCE).map(found));
  }
}, 240_000);

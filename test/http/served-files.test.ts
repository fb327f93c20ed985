/** Freshness of artifact files for callers over HTTP: off, unless the hub serves a folder. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { HttpOptions } from "../../src/http/app.ts";
import { httpHub } from "../../src/http/app.ts";
import type { Hub } from "../../src/index.ts";
import { openHub, openLocalHub } from "../../src/open/open-hub.ts";
import { caught } from "../support/caught.ts";
import { sha256, take, tempFolder } from "../support/hub/support.ts";

/** A folder with a file, a dotfile, and links to files and folders outside of it. */
function folder(): string {
  const outside = tempFolder();
  const inside = join(outside, "repo");
  mkdirSync(join(inside, ".git"), { recursive: true });
  mkdirSync(join(outside, ".ssh"));
  for (const file of ["repo/plan", "repo/.env", "repo/.git/config", "secret", ".ssh/key"]) {
    writeFileSync(join(outside, file), "text");
  }
  symlinkSync(join(outside, "secret"), join(inside, "link"));
  symlinkSync(outside, join(inside, "up"));
  symlinkSync(join(inside, ".env"), join(inside, "settings"));
  return inside;
}

/** Returns a client of a hub in this folder, and what it reports of these files. */
async function checked(paths: readonly string[], files: string, options: HttpOptions) {
  const hub = await openLocalHub("memory:", { files });
  const app = httpHub(hub, { open: "admin", ...options });
  onTestFinished(() => hub.close());
  const fetch = (request: Request) => app.fetch(request);
  const client = await openHub("http://localhost", { fetch, files: false });
  onTestFinished(() => client.close());
  return { remote: await freshnessIn(client, paths), local: await freshnessIn(hub, paths) };
}

async function freshnessIn(hub: Hub, paths: readonly string[]) {
  const ada = await hub.agent("ada", { role: "coder" });
  const artifacts = paths.map((path) => ({ kind: "file", path, digest: sha256("text") }));
  await ada.handoff({ to: "ada", task: "t", intent: "Check it", artifacts });
  const work = await take(ada);
  const { artifacts: found } = await work.freshness();
  const view = await work.view();
  expect(view.artifacts).toEqual(found);
  await work.complete({});
  return Object.fromEntries(
    found.map(({ path, freshness, reason }) => [path, reason ?? freshness]),
  );
}

describe("the freshness of files over HTTP", () => {
  const PATHS = ["plan", "missing", ".env", "../secret", "link"];

  it("is unchecked unless the hub serves a folder; a hub in this process checks [CTX-10 OPS-5]", async () => {
    const { remote, local } = await checked(PATHS, folder(), {});
    expect(remote).toEqual(Object.fromEntries(PATHS.map((path) => [path, "no_folder"])));
    expect(local).toEqual({
      plan: "fresh",
      missing: "gone",
      ".env": "fresh",
      "../secret": "outside",
      link: "outside",
    });
  });

  it("is unchecked in a workspace whose folder is not served [CTX-10 OPS-5]", async () => {
    const repo = folder();
    const { remote } = await checked(["plan"], repo, { files: { other: repo } });
    expect(remote).toEqual({ plan: "no_folder" });
  });

  it("is checked in the served folder, without links out of it and dotfiles [CTX-10 OPS-5]", async () => {
    const repo = folder();
    const hidden = [".env", ".git/config", ".git/missing", ".missing", "settings"];
    const outside = [
      "link",
      "up/secret",
      "up/missing",
      "up/missing/deep",
      "../secret",
      "/etc/passwd",
    ];
    const { remote } = await checked(["plan", "missing", ...hidden, ...outside], repo, {
      files: { default: repo },
    });
    expect(remote).toEqual({
      plan: "fresh",
      missing: "gone",
      ...Object.fromEntries(hidden.map((path) => [path, "hidden"])),
      ...Object.fromEntries(outside.map((path) => [path, "outside"])),
    });
  });

  it("is checked only of folders that exist [CTX-10]", async () => {
    const hub = await openLocalHub("memory:");
    onTestFinished(() => hub.close());
    for (const files of [{ default: "/does/not/exist" }, { "a\nb": tempFolder() }]) {
      expect(caught(() => httpHub(hub, { files }))).toMatchObject({
        code: "invalid_input",
        path: "files",
      });
    }
  });
});

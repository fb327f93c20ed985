/** `baton setup`: what it writes, that it changes nothing else, and that it can be undone. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeChanges } from "../../src/harness/setup/file-changes.ts";
import { ERROR_CODES } from "../../src/index.ts";
import { BATON as ENTRY } from "../support/build/place.ts";
import { tempFolder } from "../support/hub/support.ts";
import { bareProject, git, type Project, run } from "./harness.ts";

const FILES = {
  "claude-code": {
    project: [".mcp.json", ".claude/settings.json"],
    user: [".claude.json", ".claude/settings.json"],
  },
  codex: {
    project: [".codex/config.toml", ".codex/hooks.json"],
    user: [".codex/config.toml", ".codex/hooks.json"],
  },
} as const;

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Returns the files in a folder, except the repository and the store. */
function filesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .filter((name) => !/^\.(git|baton)\//.test(name));
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

async function ok(here: Project, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await here.baton(...words);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

/**
 * Settings as people write them: own order and indentation, tabs, comments, several settings, own
 * hooks.
 */
const OTHERS = {
  ".mcp.json": `{\n    "mcpServers": {\n        "github": { "command": "gh-mcp", "args": [] }\n    },\n    "x": [1,2]\n}`,
  ".claude/settings.json": `{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }],\n\t\t"Notification": []\n\t},\n\t"permissions": {"allow": ["Bash(npm test)"]}\n}\n`,
  ".codex/config.toml": `# My settings\nmodel = "gpt-5.5" # the good one\n\n[mcp_servers.docs]\ncommand = 'docs'\nargs = [\n  "--all", # everything\n]\n\n[[skills]]\nname = """a\nb"""\n`,
  ".codex/hooks.json": `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say done"}]}]}}`,
} as const;

describe.each(["claude-code", "codex"] as const)("baton setup %s", (client) => {
  it("writes server and hooks with absolute paths, registers the agent, and can be undone [OPS-8]", async () => {
    const here = bareProject();
    const before = filesIn(here.folder);
    await ok(here, "setup", client, "--as", "coder");
    const [server, hooks] = FILES[client].project;
    expect(Object.keys(filesIn(here.folder)).sort()).toEqual([server, hooks].sort());
    const args = [ENTRY, "mcp", "--as", "coder"];
    const text = readFileSync(join(here.folder, server), "utf8");
    if (client === "codex") {
      expect(text).toContain(
        `[mcp_servers.baton]\ncommand = "${process.execPath}"\nargs = ${JSON.stringify(args).replaceAll(",", ", ")}\n`,
      );
    } else {
      const baton = { type: "stdio", command: process.execPath, args };
      expect(JSON.parse(text)).toEqual({ mcpServers: { baton } });
    }
    const set = JSON.parse(readFileSync(join(here.folder, hooks), "utf8"));
    const event = `${process.execPath} ${ENTRY} hook ${client} SessionStart --as coder`;
    expect(set.hooks.SessionStart).toEqual([
      { hooks: [{ type: "command", command: event, timeout: 10 }] },
    ]);
    await using hub = await here.open();
    expect((await hub.agents.list()).map(({ id }) => id)).toEqual(["coder"]);
    await ok(here, "setup", client, "--undo");
    expect(filesIn(here.folder)).toEqual(before);
  });

  it("keeps existing settings byte for byte, also after it was undone [OPS-8]", async () => {
    const here = bareProject();
    const theirs = FILES[client].project.map((name) => [name, OTHERS[name]] as const);
    for (const [name, text] of theirs) write(join(here.folder, name), text);
    await ok(here, "setup", client);
    for (const [name, text] of theirs) {
      const now = readFileSync(join(here.folder, name), "utf8");
      expect(now).not.toBe(text);
      // Every original line is still there, in order; a comma may have been appended to it.
      const lines = now.split("\n").map((line) => line.replace(/,$/, ""));
      let at = -1;
      for (const line of name === ".codex/hooks.json" ? [] : text.split("\n")) {
        at = lines.findIndex(
          (each, i) => i > at && each.startsWith(line.replace(/,$/, "").replace(/[\]}]+$/, "")),
        );
        expect(at, `${name} has lost ${line}`).toBeGreaterThan(-1);
      }
    }
    await ok(here, "setup", client, "--undo");
    expect(filesIn(here.folder)).toEqual(Object.fromEntries(theirs));
  });

  it("changes nothing when it runs again, and only paths that have moved [OPS-8]", async () => {
    const here = bareProject();
    await ok(here, "setup", client);
    const once = filesIn(here.folder);
    expect(await ok(here, "setup", client)).toContain("No changes needed.");
    expect(filesIn(here.folder)).toEqual(once);
    const file = join(here.folder, FILES[client].project[1]);
    const moved = once[FILES[client].project[1]]
      ?.replaceAll(ENTRY, "/old place/cli/main.js")
      .replaceAll('"timeout": 10', '"timeout": 77');
    write(file, moved?.replaceAll("/old place/cli/main.js", '\\"/old place/cli/main.js\\"') ?? "");
    await ok(here, "setup", client);
    expect(readFileSync(file, "utf8")).toBe(
      once[FILES[client].project[1]]?.replaceAll('"timeout": 10', '"timeout": 77'),
    );
  });

  it("shows its changes without making them in a dry run [OPS-8]", async () => {
    const here = bareProject();
    const [name] = FILES[client].project;
    write(join(here.folder, name), OTHERS[name]);
    const before = filesIn(here.folder);
    const shown = await ok(here, "setup", client, "--dry-run");
    expect(filesIn(here.folder)).toEqual(before);
    expect(existsSync(join(here.folder, ".baton"))).toBe(false);
    expect(shown).toMatch(/^\+ .*baton/m);
    expect(shown, "no line of theirs goes, but for a comma").not.toMatch(/^- (?!.*[\]}"]$)/m);
    const { changes } = JSON.parse(await ok(here, "setup", client, "--dry-run", "--json"));
    expect(changes).toHaveLength(2);
  });

  it.each([0, 1])(
    "changes nothing when one of the files is invalid (%i) [OPS-8]",
    async (broken) => {
      const here = bareProject();
      const names = FILES[client].project;
      const other = names[1 - broken] as keyof typeof OTHERS;
      write(
        join(here.folder, names[broken] as string),
        client === "codex" && broken === 0 ? 'a = "b\n' : '{"a": ',
      );
      write(join(here.folder, other), OTHERS[other]);
      const before = filesIn(here.folder);
      for (const words of [[], ["--undo"]]) {
        const { code, stderr } = await here.baton("setup", client, ...words);
        expect(code).toBe(ERROR_CODES.file_unusable.exit);
        expect(stderr).toContain("Nothing was changed");
      }
      expect(filesIn(here.folder)).toEqual(before);
    },
  );

  it("refuses to write a file that is read-only or not UTF-8 [OPS-8]", async () => {
    const here = bareProject();
    const [name] = FILES[client].project;
    const file = join(here.folder, name);
    const latin = Buffer.from(
      client === "codex" ? "a = 'caf\xe9'\n" : '{"a": "caf\xe9"}',
      "latin1",
    );
    write(file, "");
    writeFileSync(file, latin);
    const unreadable = await here.baton("setup", client);
    expect(unreadable.code).toBe(ERROR_CODES.file_unusable.exit);
    expect(unreadable.stderr).toContain("UTF-8");
    expect(readFileSync(file)).toEqual(latin);

    write(file, client === "codex" ? "a = 1\n" : '{"a": 1}');
    chmodSync(file, 0o444);
    const before = filesIn(here.folder);
    const locked = await here.baton("setup", client);
    expect(locked.code).toBe(ERROR_CODES.file_unusable.exit);
    expect(locked.stderr).toMatch(/read-only.*Nothing was changed/s);
    expect(filesIn(here.folder)).toEqual(before);
  });

  it("does not replace a server of that name that it did not write [OPS-8]", async () => {
    const here = bareProject();
    const [name] = FILES[client].project;
    const own =
      client === "codex"
        ? '[mcp_servers]\nbaton = { command = "x" }\n'
        : '{"mcpServers": {"baton": {"command": "x"}}}';
    write(join(here.folder, name), own);
    const { code } = await here.baton("setup", client);
    expect(code).toBe(ERROR_CODES.already_exists.exit);
    await ok(here, "setup", client, "--undo");
    expect(filesIn(here.folder)).toEqual({ [name]: own });
  });

  it("changes the user's settings, keeps their mode, and follows a symlink [OPS-8]", async () => {
    const here = bareProject();
    const [server, hooks] = FILES[client].user.map((name) => join(here.home, name)) as [
      string,
      string,
    ];
    write(server, client === "codex" ? "" : '{"numStartups": 7}');
    chmodSync(server, 0o600);
    const elsewhere = join(here.home, "dotfiles.json");
    write(hooks, "{}");
    renameSync(hooks, elsewhere);
    symlinkSync(elsewhere, hooks);
    await ok(here, "setup", client, "--scope", "user");
    expect(filesIn(here.folder)).toEqual({});
    expect(existsSync(join(here.folder, ".baton"))).toBe(false);
    expect(statSync(server).mode & 0o777).toBe(0o600);
    expect(lstatSync(hooks).isSymbolicLink()).toBe(true);
    expect(readFileSync(elsewhere, "utf8")).toContain(`hook ${client} SessionStart`);
    expect(readFileSync(server, "utf8")).toContain("baton");
  });
});

describe("baton setup claude-code", () => {
  it("reads a file with a byte order mark and keeps the mark [OPS-8]", async () => {
    const here = bareProject();
    const theirs = '\ufeff{\r\n\t"a": 1\r\n}\r\n';
    write(join(here.folder, ".mcp.json"), theirs);
    await ok(here, "setup", "claude-code");
    const now = readFileSync(join(here.folder, ".mcp.json"), "utf8");
    expect(now).toMatch(/^\ufeff\{\r\n\t"a": 1,\r\n\t"mcpServers"/);
    await ok(here, "setup", "claude-code", "--undo");
    expect(readFileSync(join(here.folder, ".mcp.json"), "utf8")).toBe(theirs);
  });

  it.each(["null", "[]", '"x"', '[{"name": "theirs"}]'])(
    "refuses to add a server to an invalid mcpServers: %s [OPS-8]",
    async (servers) => {
      const here = bareProject();
      const theirs = `{"mcpServers": ${servers}}`;
      write(join(here.folder, ".mcp.json"), theirs);
      const { code, stderr } = await here.baton("setup", "claude-code");
      expect(code).toBe(ERROR_CODES.file_unusable.exit);
      expect(stderr).toContain("mcpServers");
      await ok(here, "setup", "claude-code", "--undo");
      expect(filesIn(here.folder)).toEqual({ ".mcp.json": theirs });
    },
  );

  it("changes the effective one of two duplicate keys, and undoes it there [OPS-8]", async () => {
    const here = bareProject();
    const theirs = '{"mcpServers": {"a": {}}, "mcpServers": {"b": {"command": "b"}}}';
    write(join(here.folder, ".mcp.json"), theirs);
    await ok(here, "setup", "claude-code");
    const now = JSON.parse(readFileSync(join(here.folder, ".mcp.json"), "utf8"));
    expect(Object.keys(now.mcpServers)).toEqual(["b", "baton"]);
    await ok(here, "setup", "claude-code", "--undo");
    expect(filesIn(here.folder)).toEqual({ ".mcp.json": theirs });
  });

  it("keeps a symlink, also when its target is deleted [OPS-8]", async () => {
    const here = bareProject();
    const link = join(here.folder, ".mcp.json");
    symlinkSync(join(here.home, "mcp.json"), link);
    await ok(here, "setup", "claude-code");
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(here.home, "mcp.json"), "utf8")).toContain("baton");
    await ok(here, "setup", "claude-code", "--undo");
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(existsSync(join(here.home, "mcp.json"))).toBe(false);
  });

  it.each(["project", "user"])(
    "refuses an invalid agent name for this %s [OPS-8]",
    async (scope) => {
      const here = bareProject();
      const words = ["setup", "claude-code", "--scope", scope, "--as", "a b"];
      const { code, stderr } = await here.baton(...words);
      expect(code).toBe(ERROR_CODES.invalid_input.exit);
      expect(stderr).toContain("--as");
      expect([filesIn(here.folder), filesIn(here.home)]).toEqual([{}, {}]);
    },
  );

  it("reports its changes without other content of the files [OPS-8]", async () => {
    const here = bareProject();
    write(join(here.home, ".claude.json"), '{\n  "token": "theirs only",\n  "n": 1\n}\n');
    const words = ["setup", "claude-code", "--scope", "user", "--json"];
    const { changes } = JSON.parse(await ok(here, ...words));
    expect(JSON.stringify(changes)).not.toContain("theirs only");
    expect(changes[0]).toMatchObject({ file: join(here.home, ".claude.json"), what: "changed" });
    expect(changes[0].lines).toContainEqual({ kind: "added", text: '  "mcpServers": {' });
  });
});

describe("a change of a settings file", () => {
  it("is not written when the file was changed in the meantime [OPS-8]", () => {
    const file = join(tempFolder(), "settings.json");
    write(file, '{"theirs": 2}');
    const change = { file, before: '{"theirs": 1}', after: '{"theirs": 1, "ours": 1}' };
    expect(() => writeChanges([change])).toThrow(/changed by another program/);
    expect(() => writeChanges([{ ...change, before: undefined }])).toThrow(
      /changed by another program/,
    );
    expect(readFileSync(file, "utf8")).toBe('{"theirs": 2}');
  });
});

describe("settings written by baton setup", () => {
  it("name a store that was given as a path by its full address [OPS-8]", async () => {
    const here = bareProject();
    const file = join(here.home, "plain.db");
    await ok(here, "setup", "claude-code", "--store", file);
    const set = readFileSync(join(here.folder, ".claude/settings.json"), "utf8");
    expect(set).toContain(`sqlite:${file}`);
  });

  it("run as written, from a path with spaces and with another store [OPS-8]", async () => {
    const here = bareProject();
    const store = `sqlite:${join(here.home, "my store", "hub.db")}`;
    await ok(here, "setup", "claude-code", "--store", store, "--workspace", "w");
    const set = JSON.parse(readFileSync(join(here.folder, ".claude/settings.json"), "utf8"));
    const command: string = set.hooks.UserPromptSubmit[0].hooks[0].command;
    const input = {
      session_id: "s",
      cwd: here.home,
      hook_event_name: "UserPromptSubmit",
      prompt: "Hi",
    };
    const { spawnSync } = await import("node:child_process");
    const ran = spawnSync("sh", ["-c", command], {
      input: JSON.stringify(input),
      encoding: "utf8",
    });
    expect({ code: ran.status, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" });
    const steps = await here.baton(
      "trace",
      "show",
      "s",
      "--store",
      store,
      "--workspace",
      "w",
      "--json",
    );
    expect(JSON.parse(steps.stdout)).toMatchObject({
      items: [{ agent: "claude-code", data: { input: "Hi" } }],
    });
  });

  it("are at the top of the repository, wherever setup was run [OPS-8]", async () => {
    const here = bareProject();
    mkdirSync(join(here.folder, "deep"));
    await run(["setup", "claude-code"], { home: here.home, cwd: join(here.folder, "deep") });
    expect(Object.keys(filesIn(here.folder)).sort()).toEqual([
      ".claude/settings.json",
      ".mcp.json",
    ]);
    git(here.folder, "status");
  });

  it("must not contain a password [OPS-8]", async () => {
    const here = bareProject();
    const { code, stderr } = await here.baton(
      "setup",
      "codex",
      "--store",
      "postgres://ada:secret@db/x",
    );
    expect(code).toBe(ERROR_CODES.invalid_input.exit);
    expect(stderr).not.toContain("secret");
    expect(filesIn(here.folder)).toEqual({});
  });

  it("are printed for any other client, without writing a file [OPS-8]", async () => {
    const here = bareProject();
    const { stdio, http } = JSON.parse(await ok(here, "setup", "mcp", "--as", "coder", "--json"));
    const args = [ENTRY, "mcp", "--as", "coder"];
    expect(stdio).toEqual({ mcpServers: { baton: { command: process.execPath, args } } });
    const headers = { Authorization: "Bearer <token>" };
    expect(http).toEqual({
      mcpServers: { baton: { type: "http", url: "http://127.0.0.1:4747/mcp/coder", headers } },
    });
    const elsewhere = [
      "setup",
      "mcp",
      "--as",
      "coder",
      "--store",
      "https://hub.example/",
      "--json",
    ];
    expect(JSON.parse(await ok(here, ...elsewhere)).http.mcpServers.baton.url).toBe(
      "https://hub.example/mcp/coder",
    );
    expect(await ok(here, "setup", "mcp")).toContain('"mcpServers"');
    expect(filesIn(here.folder)).toEqual({});
  });
});

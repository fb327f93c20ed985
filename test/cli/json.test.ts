/**
 * `--json` on every command that shows data. All commands run on one store, in an order that gives
 * each the data it needs; each must print one JSON document and nothing else.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { tempFolder } from "../support/hub/support.ts";
import { batonInProcess, baton as batonProcess } from "./baton.ts";

/** Commands without --json, with the reason. */
const WITHOUT: Readonly<Record<string, string>> = {
  demo: "prints a story",
  hook: "answers in the form that its harness asks for",
  mcp: "speaks MCP, which is JSON already",
};

/** Commands tested elsewhere: they serve, need keys, write to the user's home, or inspect the machine. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  start: "test/http",
  login: "test/cli/start.test.ts",
  setup: "test/harness/setup.test.ts",
  doctor: "test/harness/doctor.test.ts",
  "demo team": "test/cli/demo-team.test.ts",
  "agent rotate-key": "test/cli/head.test.ts",
  "agent revoke-key": "test/cli/head.test.ts",
};

it("every command that shows data accepts --json [OPS-7]", () => {
  const silent = COMMANDS.filter(({ options }) => options["json"] === undefined);
  expect(silent.map(({ name }) => name).sort()).toEqual(Object.keys(WITHOUT).sort());
  for (const { options } of COMMANDS) expect(options["json"]?.type ?? "flag").toBe("flag");
  for (const place of Object.values(ELSEWHERE)) {
    expect(existsSync(join(import.meta.dirname, "../..", place)), place).toBe(true);
  }
});

// biome-ignore lint/suspicious/noExplicitAny: the shape of the output is checked where it is used.
type Printed = any;

it("every command prints one JSON document and nothing else with --json [OPS-7]", {
  timeout: 900_000,
}, async () => {
  const folder = tempFolder();
  const store = `sqlite:${join(folder, "hub.db")}`;
  const run = new Set<string>();

  /** Runs a command by name: the first time as a child process, after that in this process. */
  async function baton(name: string, ...words: readonly string[]): Promise<Printed> {
    const command = COMMANDS.find((each) => each.name === name);
    if (command === undefined) throw new Error(`there is no command ${name}`);
    const where = command.options["store"] === undefined ? [] : ["--store", store];
    const all = [...name.split(" "), ...words, ...where, "--json"];
    const { code, stdout, stderr } = await (run.has(name)
      ? batonInProcess(all)
      : batonProcess(all));
    run.add(name);
    expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: "" });
    return JSON.parse(stdout);
  }

  /** Hands a task over. Returns the delivery id. */
  async function handed(to: string, task: string, ...words: readonly string[]): Promise<string> {
    const draft = ["--as", "ada", "--to", to, "--task", task, ...words];
    return (await baton("handoff send", "Do it", ...draft)).deliveries[0].id;
  }

  /** Hands a task to the coder, who accepts it. Returns the handle. */
  async function held(task: string, ...words: readonly string[]): Promise<string> {
    await handed("ben", task, ...words);
    return (await baton("accept", "--as", "ben")).handle;
  }

  await baton("agent add", "ada", "--role", "coordinator");
  await baton("agent add", "ben", "--role", "coder");
  await baton("agent add", "pat", "--person");
  await baton("agents");
  await baton("agent pause", "ben");
  await baton("agent resume", "ben");
  await baton("profile", "coder");
  await baton("payload-type add", "patch", "--schema", '{"type":"object"}', "--as", "ada");
  await baton("payload-type list");
  await baton("payload-type show", "patch");
  await baton("payload-type remove", "patch");
  await baton("handoff rules", "--unregistered", "accept");

  const memory = (await baton("remember", "The cache is cold.", "--as", "ada")).id as string;
  await baton("read", memory);
  await baton("recent");
  await baton("recall", "cache");
  await baton("embed");
  await baton("pin", memory, "--as", "ada");
  await baton("relations", memory, "--as", "ada");
  await baton("impact", memory);
  await baton("quarantine", "--list");
  await baton("sql", "select 1 as one");

  const sent = await handed("ben", "auth", "--constraint", "Keep the fixtures");
  await baton("handoff show", sent);
  await baton("lint", sent);
  await baton("inbox", "ben");
  await baton("catchup", "--as", "ben");
  const work = (await baton("accept", "--as", "ben")).handle as string;
  await baton("primer", sent);
  await baton("view", sent);
  await baton("note", work, "Half of it.");
  await baton("reserve", work, "src/auth/**");
  await baton("reservations");
  await baton("unreserve", work);
  await baton("complete", work, "All of it.");
  await baton("line", "auth");
  await baton("timeline", "auth");
  const { constraints } = await baton("ledger", "auth");
  await baton("ledger release", "auth", constraints[0].id, "--reason", "Gone", "--as", "ada");
  await baton("ledger releasers");

  await baton("release", await held("released"));
  await baton("cancel", "--task", "released", "--as", "ada", "--reason", "Enough");
  await baton("decline", await held("declined"), "Not mine.");
  const asked = await held("asked");
  await baton("clarify", asked, "Which one?");
  const [question] = await baton("questions", "--as", "ada");
  await baton("answer", question.delivery.id, "The first.", "--as", "ada");
  await baton("complete", (await baton("accept", "--as", "ben")).handle);

  const person = (task: string) => handed("pat", task, "--expect", "approval:approval");
  await baton("approve", await person("yes"), "--as", "pat");
  await baton("reject", await person("no"), "Too soon.", "--as", "pat");
  await baton("edit", await person("other"), "--as", "pat", "--intent", "Go on Monday?");

  await baton("fail", await held("hopeless", "--attempts", "1"), "It broke.", "--permanent");
  const [dead] = (await baton("dead list")).items;
  await baton("dead show", dead.delivery.id);
  await baton("dead redrive", dead.delivery.id, "--as", "ada");
  await baton("fail", (await baton("accept", "--as", "ben")).handle, "Again.", "--permanent");
  await baton("dead discard", dead.delivery.id, "Given up.", "--as", "ada");
  await baton("failure");
  await baton("failure rule");
  await baton(
    "fail",
    await held("decided", "--attempts", "1", "--escalate"),
    "It broke.",
    "--permanent",
  );
  const { delivery: failed } = (await baton("failure")).items.at(-1);
  await baton("failure show", failed);
  await baton("failure decide", failed, "abort", "--as", "ada", "--reason", "Not worth it");
  await baton("breaker list");
  await baton("breaker reset", "ben");

  await baton("task add", "later", "Do it later", "--as", "ada", "--to", "ben");
  await baton("task list");
  await baton("task show", "later");
  await baton("task tree", "later");
  await baton("complete", (await baton("task next", "--as", "ben")).handle);
  await baton("task reopen", "later", "--as", "ada", "--reason", "Not quite");
  await baton("task close", "later", "--as", "ada", "--reason", "Done");
  await baton("task add", "never", "Do it some day", "--as", "ada", "--to", "ben");
  await baton("task cancel", "never", "--as", "ada", "--reason", "Never mind");

  const set = await baton("context set", "conventions", "names", "Verbs first.", "--as", "ada");
  await baton("context");
  await baton("context decide", "orm", "None", "--question", "Which ORM?", "--as", "ada");
  await baton("context history", "conventions", "names");
  await baton("context changes");
  await baton("context keepers");
  await baton("context project");
  const why = ["--reason", "Mocks lie", "--as", "ben"];
  const {
    deliveries: [proposal],
  } = await baton("context propose", "conventions", "tests", "Real stores.", ...why);
  const adopting = (await baton("accept", proposal.id, "--as", "ada")).handle;
  await baton("context adopt", adopting);
  const gone = ["--reason", "Obvious", "--based-on", String(set.version), "--as", "ada"];
  await baton("context retire", "conventions", "names", ...gone);

  await baton("channel open", "news");
  await baton("channel list");
  await baton("channel subscribe", "news", "--as", "ben");
  await baton("channel publish", "news", "Read it", "--as", "ada");
  await baton("channel unsubscribe", "news", "--as", "ben");
  await baton("channel pause", "news");
  await baton("channel close", "news");
  await baton("route set", "review", "--to", "role:coder", "--action", "needs_review");
  await baton("route list");
  await baton("route drop", "review");

  await baton("branch create", "try", "--as", "ada");
  await baton("branch list");
  await baton("branch diff", "try");
  await baton("branch merge", "try", "--as", "ada");
  await baton("branch create", "idea", "--as", "ada");
  await baton("branch abandon", "idea", "--as", "ada", "--reason", "No");

  await baton("trace list");
  await baton("trace show");
  await baton("retention");
  await baton("prune");
  await baton(
    "redact",
    "--as",
    "ada",
    "--reason",
    "Leaked",
    "--text",
    "hunter2-hunter2",
    "--dry-run",
  );
  const token = await baton("token add", "ben", "--access", "agent");
  await baton("token list");
  await baton("token revoke", token.id);
  await baton("audit", "--limit", "3");
  await baton("secrets");
  await baton("agent keys", "ada");
  await baton("head");
  await baton("verify");
  await baton("repair", "--dry-run");
  await baton("schema", "envelope");

  const [out, copy] = [join(folder, "out.jsonl"), join(folder, "copy.db")];
  await baton("export", out);
  await baton("audit export", `${out}.audit`);
  await baton("import", out, "--dry-run");
  await baton("backup", copy);
  await baton("restore", copy, "--force");

  const known = COMMANDS.map(({ name }) => name);
  const left = known.filter((name) => !run.has(name) && !(name in WITHOUT) && !(name in ELSEWHERE));
  expect(left).toEqual([]);
});

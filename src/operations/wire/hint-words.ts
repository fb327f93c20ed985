/**
 * Rewrites the SDK calls that a hint names (`hub.deadLetters.list()`) in the words of another interface: a
 * route for HTTP, a command for the command line. Errors are raised below the interfaces, so their hints
 * name SDK methods; each interface rewrites them when it reports the error.
 */
import { OPERATION_TABLE } from "../table.ts";

/** An SDK call in a text. */
export interface SdkCall {
  /** The name of the operation: "deadLetters.list", "work.complete". */
  readonly name: string;
  /** The text between the parentheses. */
  readonly args: string;
}

/** Returns the words for a call, or undefined to keep it. */
type Rewrite = (call: SdkCall) => string | undefined;

/** Rewrites every SDK call in a text. */
export function rewriteCalls(text: string, rewrite: Rewrite): string {
  const start = /\b(hub|agent|work)\.([a-z]\w{0,40}(?:\.[a-z]\w{0,40}){0,3})\(/gi;
  let result = "";
  let end = 0;
  for (const found of text.matchAll(start)) {
    if (found.index < end) continue;
    const [opening, object = "", method = ""] = found;
    const from = found.index + opening.length;
    const close = closingOf(text, from);
    if (close === -1) continue;
    const name = object.toLowerCase() === "work" ? `work.${method}` : method;
    const words = rewrite({ name, args: text.slice(from, close) });
    result += text.slice(end, found.index) + (words ?? text.slice(found.index, close + 1));
    end = close + 1;
  }
  return result + text.slice(end);
}

/** Returns the position of the parenthesis that closes the call, or -1. Quoted parentheses do not count. */
function closingOf(text: string, from: number): number {
  let depth = 0;
  let isQuoted = false;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (char === "(") depth += 1;
    else if (char === ")") {
      if (depth === 0) return at;
      depth -= 1;
    }
  }
  return -1;
}

const quotedIn = (args: string): string[] =>
  [...args.matchAll(/"([^"]*)"/g)].map(([, quoted = ""]) => quoted);

/** Returns the first quoted argument, or the placeholder. */
const first = (args: string, placeholder: string): string => {
  const [quoted = "…"] = quotedIn(args);
  return quoted === "…" ? placeholder : quoted;
};

/** Returns a quoted field of the arguments: `role: "coder"`. */
const field = (args: string, name: string): string | undefined =>
  new RegExp(`\\b${name}: "([^"]*)"`).exec(args)?.[1];

const agentCommand: Words = (args) => {
  const name = first(/^"/.test(args) ? args : "", "<agent>");
  if (field(args, "status") === "active") return undefined;
  const owner = field(args, "owner");
  if (owner !== undefined)
    return `baton agent add ${name} --owner ${owner === "…" ? "<owner>" : owner}`;
  if (/\bkey\b/.test(args)) return undefined;
  const role = field(args, "role") ?? "…";
  return `baton agent add ${name} --role ${role === "…" ? "<role>" : role}`;
};

type Words = string | ((args: string) => string | undefined);

/** The command for each operation that hints name. Operations without a command keep the SDK call. */
const COMMANDS: Readonly<Record<string, Words>> = {
  agent: agentCommand,
  "agents.resetBreaker": (args) => `baton breaker reset ${first(args, "<receiver>")}`,
  "agents.keys": (args) => `baton agent keys ${first(args, "<agent>")}`,
  "archive.export": "baton export",
  "archive.head": "baton head",
  "branches.create": (args) => `baton branch create ${first(args, "<branch>")} --as <agent>`,
  "branches.diff": "baton branch diff <branch>",
  "branches.use": (args) => `--branch ${first(args, "<branch>")}`,
  "channels.set": (args) => `baton channel open ${first(args, "<channel>")}`,
  "channels.subscribe": (args) =>
    `baton channel subscribe ${first(args, "<channel>")} --as <agent>`,
  "context.propose": (args) =>
    args.includes("quarantine: ") ? "baton quarantine --propose" : "baton context propose",
  "deadLetters.list": "baton dead list",
  "deliveries.waiting": "baton inbox <agent>",
  "failures.decide": "baton failure decide <delivery> <decision>",
  "failures.list": "baton failure",
  handoff: "baton handoff send",
  "payloadTypes.list": "baton payload-type list",
  "payloadTypes.set": "baton payload-type add <name>",
  "questions.list": "baton questions --as <agent>",
  "routes.set": "baton route set <name> --action <action> --to <receiver>",
  "settings.get": "baton ledger releasers",
  "settings.update": (args) =>
    args.includes("transcript") ? "baton lint --rules transcript=warn" : undefined,
  "tasks.add": "baton task add",
  "tasks.board": "baton task list",
  "tasks.cancel": "baton task cancel <task>",
  "tasks.reopen": "baton task reopen <task>",
  "tokens.list": "baton token list",
  verify: "baton verify",
  "work.reservations.set": "baton reserve <work> <glob>…",
};

/** Names commands instead of SDK calls. A command that ends the text has no full stop, so it can be copied. */
export function withCommands(text: string): string {
  const rewritten = rewriteCalls(text, ({ name, args }) => {
    const words = COMMANDS[name];
    return typeof words === "function" ? words(args) : words;
  });
  return rewritten !== text && text.endsWith(").")
    ? rewritten.replace(/(?<!\))\.$/, "")
    : rewritten;
}

/** Names routes instead of SDK calls: `GET /v1/dead-letters`. Calls without a route are kept. */
export const withRoutes = (text: string): string =>
  rewriteCalls(text, ({ name, args }) => {
    const operation = OPERATION_TABLE[name];
    if (operation === undefined) return undefined;
    const quoted = quotedIn(args);
    const { route, args: names = [] } = operation;
    return route.replace(/:(\w+)/g, (parameter, key: string) => {
      const value = quoted[names.indexOf(key)];
      return value === undefined || value === "…" ? parameter : encodeURIComponent(value);
    });
  });

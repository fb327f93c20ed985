// `node scripts/run.mjs <script> [arguments]`: runs a script of the project, also on a fresh clone.
// Installs the dependencies if they are missing or out of date, then runs the script with the
// installed Node.
//
// Both steps are in one program because a shell caches the location of `node`, and would run the
// second step with the old one. Plain JavaScript without dependencies: starts on Node 18 or later.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const NODE_MAJOR = 24;
/** The output of npm is hidden at first, and shown if the installation takes longer than this. */
const SLOW_INSTALL_MS = 90_000;
/** Interval at which a run that installs touches the lock file. */
const LOCK_TOUCH_MS = 1_000;
/** A lock file that was not touched for this long is stale. */
const LOCK_STALE_MS = 15_000;
const DEPENDENCY_FIELDS = [
  "dependencies",
  "devDependencies",
  "optionalDependencies",
  "peerDependencies",
];

/**
 * Returns why the dependencies have to be installed, or undefined if they are up to date.
 * @param {string} root
 * @returns {string | undefined}
 */
export function installReason(root) {
  if (!existsSync(join(root, "node_modules"))) return "dependencies are not installed yet";
  if (nodeOf(root) === undefined) return `Node ${NODE_MAJOR} is not installed yet`;
  if (readText(stampFile(root)) === fingerprint(root)) return undefined;
  if (!installedMatchesLock(root)) return "dependencies have changed";
  writeStamp(root); // installed manually
  return undefined;
}

/** @param {string} root */
export function writeStamp(root) {
  writeFileSync(stampFile(root), fingerprint(root));
}

/** @param {string} root */
function stampFile(root) {
  return join(root, "node_modules", ".baton-setup");
}

/** @param {string} root */
function fingerprint(root) {
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}\0`);
  for (const name of ["package.json", "package-lock.json"]) {
    hash.update(readText(join(root, name)) ?? "").update("\0");
  }
  return hash.digest("hex");
}

/**
 * Returns whether node_modules, according to npm's record, matches the lock file.
 * @param {string} root
 */
function installedMatchesLock(root) {
  const manifest = readJson(join(root, "package.json"));
  const wanted = readJson(join(root, "package-lock.json"))?.packages;
  const installed = readJson(join(root, "node_modules", ".package-lock.json"))?.packages;
  if (!manifest || !wanted || !installed) return false;
  for (const field of DEPENDENCY_FIELDS) {
    if (sorted(manifest[field]) !== sorted(wanted[""]?.[field])) return false;
  }
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === "" || (entry.optional && !installed[path])) continue;
    if (installed[path]?.version !== entry.version) return false;
    if (installed[path]?.integrity !== entry.integrity) return false;
  }
  return Object.keys(installed).every((path) => path in wanted);
}

/**
 * Installs the dependencies if needed. Of several concurrent runs, one installs and the others
 * wait.
 * @param {string} root
 */
export async function setUp(root) {
  if (installReason(root) === undefined) return;
  const unlock = await lock(join(root, ".setup.lock"));
  try {
    const reason = installReason(root);
    if (reason === undefined) return;
    const started = Date.now();
    logLine(`Setting up: ${reason}. This takes about half a minute.`);
    await install(root);
    writeStamp(root);
    logLine(`Ready after ${Math.round((Date.now() - started) / 1000)} s.\n`);
  } finally {
    unlock();
  }
}

/** @param {string} root */
async function install(root) {
  /** @type {Buffer[]} */
  const held = [];
  let showing = false;
  const show = () => {
    showing = true;
    for (const chunk of held.splice(0)) process.stderr.write(chunk);
  };
  const slow = setTimeout(() => {
    logLine("Still installing. Output of npm:");
    show();
  }, SLOW_INSTALL_MS);
  const status = await runChild("npm", ["ci", "--include=dev", "--no-audit", "--no-fund"], {
    cwd: root,
    env: withoutOwnBin(root),
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32", // npm is a .cmd file on Windows
    onOutput: (chunk) => (showing ? process.stderr.write(chunk) : held.push(chunk)),
  });
  clearTimeout(slow);
  if (status === 0) return;
  show();
  throw new SetupError(`npm ci failed (exit code ${status}).`, status);
}

/**
 * Returns the environment without our node_modules/.bin: npm must not run on the Node it replaces.
 * @param {string} root
 */
function withoutOwnBin(root) {
  const env = { ...process.env };
  const name = Object.keys(env).find((key) => key.toUpperCase() === "PATH") ?? "PATH";
  const own = join(root, "node_modules", ".bin");
  env[name] = (env[name] ?? "")
    .split(delimiter)
    .filter((folder) => resolve(folder) !== own)
    .join(delimiter);
  return env;
}

/**
 * @param {string} file
 * @returns {Promise<() => void>} releases the lock
 */
async function lock(file) {
  let announced = false;
  for (;;) {
    try {
      closeSync(openSync(file, "wx"));
      break;
    } catch (error) {
      if (!hasCode(error, "EEXIST")) throw error;
    }
    if (ageOf(file) > LOCK_STALE_MS) {
      rmSync(file, { force: true });
      continue;
    }
    if (!announced) logLine("Waiting for another run that is setting up …");
    announced = true;
    await sleep(200);
  }
  const touch = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(file, now, now);
    } catch {
      // deleted by a run that considered this one dead: nothing to touch
    }
  }, LOCK_TOUCH_MS);
  return () => {
    clearInterval(touch);
    rmSync(file, { force: true });
  };
}

/** @param {string} file */
function ageOf(file) {
  try {
    return Date.now() - statSync(file).mtimeMs;
  } catch {
    return 0; // just released: try to acquire it
  }
}

/**
 * Returns the Node to run scripts with: the installed one, else the current one if recent enough.
 * @param {string} root
 */
function nodeOf(root) {
  const name = process.platform === "win32" ? "node.exe" : "node";
  const brought = join(root, "node_modules", "node", "bin", name);
  if (existsSync(brought)) return brought;
  const recent = Number(process.versions.node.split(".")[0]) >= NODE_MAJOR;
  return recent ? process.execPath : undefined;
}

/**
 * Runs a program and forwards signals to it. Ctrl-C on a terminal is not forwarded: it already
 * reaches the whole process group, and a second SIGINT would mean "exit immediately".
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import("node:child_process").SpawnOptions & { onOutput?: (chunk: Buffer) => void }} [options]
 * @returns {Promise<number>} the exit code, 128 + n after signal n
 */
export function runChild(command, args, { onOutput, ...options } = {}) {
  const child = spawn(command, args, { stdio: "inherit", ...options });
  if (onOutput) {
    child.stdout?.on("data", onOutput);
    child.stderr?.on("data", onOutput);
  }
  const onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  /** @param {NodeJS.Signals} signal */
  const forward = (signal) => {
    if (signal !== "SIGINT" || !onTerminal) child.kill(signal);
  };
  /** @type {NodeJS.Signals[]} */
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, forward);
  return new Promise((settle, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      for (const name of signals) process.off(name, forward);
      settle(signal ? 128 + constants.signals[signal] : (code ?? 1));
    });
  });
}

class SetupError extends Error {
  /**
   * @param {string} message
   * @param {number} exitCode
   */
  constructor(message, exitCode) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** @param {string} file */
function readText(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** @param {string} file */
function readJson(file) {
  const text = readText(file);
  return text === undefined ? undefined : JSON.parse(text);
}

/** @param {Record<string, string> | undefined} record */
function sorted(record) {
  return JSON.stringify(Object.entries(record ?? {}).sort());
}

/**
 * @param {unknown} error
 * @param {string} code
 */
function hasCode(error, code) {
  return error instanceof Error && "code" in error && error.code === code;
}

/**
 * Writes to stderr: stdout belongs to the script.
 * @param {string} line
 */
function logLine(line) {
  process.stderr.write(`${line}\n`);
}

/**
 * @param {string} root
 * @param {readonly string[]} argv
 * @returns {Promise<number>}
 */
async function main(root, [script, ...args]) {
  if (script === undefined) {
    logLine("usage: node scripts/run.mjs <script> [arguments]");
    return 2;
  }
  try {
    await setUp(root);
  } catch (error) {
    logLine(error instanceof Error ? error.message : String(error));
    return error instanceof SetupError ? error.exitCode : 1;
  }
  const node = nodeOf(root);
  if (node === undefined) {
    logLine(
      `Baton needs Node ${NODE_MAJOR} or later, but npm did not install it because install scripts are disabled.`,
    );
    return 1;
  }
  // Caches compiled code, which more than halves the startup time of a program.
  const cache = join(root, "node_modules", ".cache", "compiled");
  const env = { NODE_COMPILE_CACHE: cache, ...process.env };
  return runChild(node, [resolve(root, script), ...args], { env });
}

const self = fileURLToPath(import.meta.url);
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === self) {
  process.exitCode = await main(resolve(self, "..", ".."), process.argv.slice(2));
}

/**
 * Identifies this process and detects whether another one has ended, so that the work of a killed holder goes
 * to the next receiver at once instead of when its lease expires.
 *
 * A false positive would give one piece of work to two holders. A process is therefore reported as ended only
 * if it belongs to this boot and pid namespace, and its pid is free, belongs to a later process, or to a
 * zombie. On systems other than Linux, a pid cannot be distinguished from a later use of it without starting
 * a program: there the identity is empty, and leases depend on time only.
 */
import { readFileSync, readlinkSync } from "node:fs";
import type { Processes } from "../../workspace/workspace.ts";

const BOOT_ID = "/proc/sys/kernel/random/boot_id";
/** States of a process that has ended and was not reaped by its parent yet. */
const ENDED = ["Z", "X"];

interface Stat {
  readonly state: string;
  readonly startTime: string;
}

let self: string | undefined;

/** Process detection based on /proc. */
export const systemProcesses: Processes = {
  get self() {
    self ??= identityOf(process.pid);
    return self;
  },

  isGone: (other) => stateOf(other) === "gone",
  isRunning: (other) => stateOf(other) === "running",
};

function stateOf(other: string): "running" | "gone" | "unknown" {
  const [, host, pid = "", startTime] = /^(.+)\/([1-9]\d*)\/(\d+)$/.exec(other) ?? [];
  if (host === undefined || host !== hostIdentity()) return "unknown";
  const stat = statOf(pid);
  if (stat === "unreadable") return "unknown";
  if (stat === "missing") return isHidden(Number(pid)) ? "unknown" : "gone";
  return stat.startTime !== startTime || ENDED.includes(stat.state) ? "gone" : "running";
}

/**
 * Returns `bootId/pidNamespace/pid/startTime` of a process on this host; empty if it cannot be determined.
 */
export function identityOf(pid: number): string {
  const host = hostIdentity();
  const stat = statOf(String(pid));
  return host === undefined || typeof stat === "string" ? "" : `${host}/${pid}/${stat.startTime}`;
}

let cachedHostIdentity: string | undefined;

/** Returns the scope in which a pid is unique: this boot of the machine and this pid namespace. */
function hostIdentity(): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    cachedHostIdentity ??= `${readFileSync(BOOT_ID, "utf8").trim()}/${readlinkSync("/proc/self/ns/pid")}`;
    return cachedHostIdentity;
  } catch {
    return undefined;
  }
}

function statOf(pid: string): Stat | "missing" | "unreadable" {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in brackets, which may itself contain brackets.
    const [state, ...rest] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const startTime = rest[18]; // The 22nd field.
    return state && startTime ? { state, startTime } : "unreadable";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ESRCH" ? "missing" : "unreadable";
  }
}

/** Detects processes of other users that are hidden from /proc (hidepid): a signal still finds them. */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

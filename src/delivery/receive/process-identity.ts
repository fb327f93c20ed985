/**
 * Which process this is, and whether another one has ended: so that the work of a holder that was
 * killed goes to the next at once, not when its lease runs out.
 *
 * A false "it is gone" would give one piece of work to two holders, so it is said only of a process
 * of this boot and pid namespace whose pid is free, belongs to a later process, or to a corpse.
 * Elsewhere than on Linux a pid cannot be told from a later use of it without starting a program:
 * there the identity is empty, and leases go by time only.
 */
import { readFileSync, readlinkSync } from "node:fs";
import type { Processes } from "../../workspace/workspace.ts";

const BOOT_ID = "/proc/sys/kernel/random/boot_id";
/** States of a process that has ended and that its parent has not collected yet. */
const ENDED = ["Z", "X"];

interface Stat {
  readonly state: string;
  readonly startTime: string;
}

let self: string | undefined;

export const systemProcesses: Processes = {
  get self() {
    self ??= identityOf(process.pid);
    return self;
  },

  isGone(other) {
    const [, host, pid = "", startTime] = /^(.+)\/([1-9]\d*)\/(\d+)$/.exec(other) ?? [];
    if (host === undefined || host !== hostIdentity()) return false;
    const stat = statOf(pid);
    if (stat === "unreadable") return false;
    if (stat === "missing") return !isHidden(Number(pid));
    return stat.startTime !== startTime || ENDED.includes(stat.state);
  },
};

/** `bootId/pidNamespace/pid/startTime` of a process of this host; empty when it cannot be told. */
export function identityOf(pid: number): string {
  const host = hostIdentity();
  const stat = statOf(String(pid));
  return host === undefined || typeof stat === "string" ? "" : `${host}/${pid}/${stat.startTime}`;
}

let cachedHostIdentity: string | undefined;

/** Where a pid means something: this boot of the machine, and this pid namespace. */
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

/** Where other users' processes are hidden from /proc (hidepid), a signal still finds them. */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** The identity of a process, and when a process counts as gone. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { identityOf, systemProcesses } from "../../../src/delivery/receive/process-identity.ts";
import { until } from "../../support/until.ts";

const isLinux = process.platform === "linux";
const { isGone } = systemProcesses;

describe.runIf(isLinux)("a process", () => {
  /** Starts a process that idles until the test ends. */
  function idle(script = "exec sleep 600") {
    const child = spawn("sh", ["-c", script], { stdio: "ignore" });
    onTestFinished(() => void child.kill("SIGKILL"));
    return { child, pid: child.pid ?? 0 };
  }

  it("is identified by boot, pid namespace, pid and start time", () => {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const [host, namespace, pid, started, ...more] = systemProcesses.self.split("/");
    expect({ host, pid, more }).toEqual({ host: boot, pid: `${process.pid}`, more: [] });
    expect(namespace).toMatch(/^pid:\[\d+\]$/);
    expect(started).toMatch(/^\d+$/);
    expect(identityOf(process.pid)).toBe(systemProcesses.self);
  });

  it("is gone after it was killed, and not before [DLV-6]", async () => {
    const { child, pid } = idle();
    const identity = identityOf(pid);
    expect(isGone(systemProcesses.self)).toBe(false);
    expect(isGone(identity)).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isGone(identity)).toBe(true);
    expect(identityOf(pid)).toBe("");
  });

  it("is gone when it ended and its parent did not reap it [DLV-6]", async () => {
    // The shell replaces itself with a program that never reaps its child.
    const { pid } = idle("sleep 600 & exec sleep 600");
    const read = (file: string): string => readFileSync(`/proc/${file}`, "utf8").trim();
    await until("the shell has become another program", () => read(`${pid}/comm`) === "sleep");
    const child = Number(read(`${pid}/task/${pid}/children`));
    onTestFinished(() => void process.kill(child, "SIGKILL"));
    const identity = identityOf(child);
    expect(isGone(identity)).toBe(false);
    process.kill(child, "SIGKILL");
    await until("the child has ended", () => /\) Z /.test(read(`${child}/stat`)));
    expect(isGone(identity)).toBe(true);
  });

  it("is gone when its pid belongs to a later process [DLV-6]", () => {
    const earlier = systemProcesses.self.replace(/\d+$/, "1");
    expect(isGone(earlier)).toBe(true);
  });

  it("is not gone on another machine, boot or namespace, or with an invalid identity", () => {
    const gone = systemProcesses.self.replace(/\d+$/, "1");
    const others = [
      gone.replace(/^[^/]+/, "00000000-0000-4000-8000-000000000000"),
      gone.replace(/pid:\[\d+\]/, "pid:[1]"),
      "",
      "p1",
      `${gone}/`,
      gone.replace(/\/\d+\/1$/, "/../1"),
      gone.replace(/\/\d+\/1$/, "/x/1"),
      gone.replace(/\/1$/, ""),
    ];
    for (const other of others) expect(isGone(other), other).toBe(false);
  });

  it("is not gone when it belongs to another user", () => {
    expect(isGone(identityOf(1))).toBe(false);
  });
});

it.skipIf(isLinux)("a process has no identity outside Linux", () => {
  expect(systemProcesses.self).toBe("");
});

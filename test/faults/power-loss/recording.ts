/**
 * Records what the store writes and syncs: compiles recorder.c, runs scenarios in a child process with it, and
 * reads the trace. Needs Linux and a C compiler; `whyNotRecorded` says what is missing.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startChild } from "../../support/child.ts";
import type { Scenario } from "./scenarios.ts";

const CHILD = new URL("./power-loss-child.ts", import.meta.url);
const HEADER = 32;
const KINDS = [
  "",
  "open",
  "close",
  "write",
  "truncate",
  "sync",
  "make-folder",
  "unlink",
  "rename",
  "link",
] as const;

/** A system call of the recorded process. */
export interface Call {
  readonly kind: Exclude<(typeof KINDS)[number], "">;
  readonly fd: number;
  /** The error number of a call that failed; for `open`, 1 if it opened a folder. */
  readonly error: number;
  readonly flags: number;
  /** Of a write; for `truncate`, the new size. */
  readonly offset: number;
  /** What was written, or the paths, separated by a zero byte. */
  readonly data: Buffer;
}

/** Returns why runs cannot be recorded on this machine; undefined if they can. */
export function whyNotRecorded(): string | undefined {
  if (process.platform !== "linux") return "recording needs Linux (LD_PRELOAD)";
  const { status } = spawnSync("cc", ["--version"], { stdio: "ignore" });
  return status === 0 ? undefined : "recording needs a C compiler (cc)";
}

/** Runs the scenarios in `folder`, which must be empty, and returns their calls in order. */
export async function recordScenarios(
  folder: string,
  scenarios: readonly Scenario[],
): Promise<Iterable<Call>> {
  const [library, trace, under] = ["recorder.so", "trace", "run"].map((name) => join(folder, name));
  const source = join(import.meta.dirname, "recorder.c");
  const cc = spawnSync("cc", ["-O1", "-shared", "-fPIC", "-o", library as string, source, "-ldl"]);
  if (cc.status !== 0) throw new Error(`cc failed: ${cc.stderr}`);
  mkdirSync(under as string);
  const env = {
    LD_PRELOAD: library,
    RECORDER_TRACE: trace,
    RECORDER_FOLDER: under,
  };
  const args = [under as string, JSON.stringify(scenarios)];
  const child = startChild(CHILD, args, () => {}, env);
  const { code, signal, stderr } = await child.ended;
  if (code !== 0) throw new Error(`the recorded run failed (${code ?? signal}): ${stderr}`);
  return callsIn(readFileSync(trace as string));
}

function* callsIn(trace: Buffer): Iterable<Call> {
  for (let at = 0; at < trace.length; ) {
    const kind = KINDS[trace.readUInt32LE(at)];
    const length = trace.readUInt32LE(at + 24);
    if (kind === undefined || kind === "") throw new Error(`the trace is damaged at ${at}`);
    yield {
      kind,
      fd: trace.readInt32LE(at + 4),
      error: trace.readInt32LE(at + 8),
      flags: trace.readUInt32LE(at + 12),
      offset: Number(trace.readBigUInt64LE(at + 16)),
      data: trace.subarray(at + HEADER, at + HEADER + length),
    };
    at += HEADER + length;
  }
}

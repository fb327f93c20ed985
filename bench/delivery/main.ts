/** `npm run bench -- --only delivery`: compares Baton with queues and raw engines. */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { Bench } from "./bench.ts";
import { verdicts } from "./goals.ts";
import { HELP, readOptions } from "./options.ts";
import { report } from "./report.ts";
import { revision, sourceDigest } from "./source.ts";

export async function runDelivery(args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  if (options.help) return void process.stdout.write(HELP);
  const source = sourceDigest();
  await using bench = new Bench(options);
  await bench.run();
  const baton = `Baton ${revision()}, src ${source}`;
  const changed = sourceDigest() !== source;
  const at = new Date().toISOString();
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${process.platform}`;
  const versions = [baton, `Node ${process.version}`, ...bench.engineVersions, ...peerVersions()];
  const head = [`${at.slice(0, 10)}, ${machine}`, versions.join(", ")];
  if (changed) head.push("", "**src changed during this run: the results mix versions.**");
  process.stdout.write(`${head.join("\n")}\n\n${report(bench.samples, options)}\n`);
  if (bench.samples.failures.length > 0) process.exitCode = 1;
  if (options.json === undefined) return;
  const { rates, latencies, kills, missing } = bench.samples;
  const asked = { ...options, systems: options.systems.map(({ name }) => name) };
  const found = {
    at,
    machine,
    versions,
    sourceChanged: changed,
    options: { ...asked, workloads: [...options.workloads] },
    goals: verdicts(bench.samples),
    rates,
    latencies,
    kills,
    missing,
  };
  writeFileSync(options.json, `${JSON.stringify(found, null, 2)}\n`);
}

function peerVersions(): string[] {
  const file = join(import.meta.dirname, "..", "peers", "package.json");
  const { dependencies } = JSON.parse(readFileSync(file, "utf8")) as {
    dependencies: Record<string, string>;
  };
  return Object.entries(dependencies).map(([name, version]) => `${name} ${version}`);
}

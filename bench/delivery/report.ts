/** Renders the results as Markdown tables. */
import { median } from "../kit.ts";
import { RATIO_GOALS, verdicts } from "./goals.ts";
import { medianOf, RATE_WORKLOADS, type RateWorkload, type Samples } from "./samples.ts";
import type { System } from "./system.ts";
import { RAW_SQLITE, titleOf } from "./systems.ts";

export interface Asked {
  readonly systems: readonly System[];
  readonly rawSqlite: boolean;
  readonly workloads: ReadonlySet<string>;
}

export function report(samples: Samples, asked: Asked): string {
  return [
    failures(samples),
    rates(samples, asked),
    configurations(samples, asked),
    ratios(samples, asked),
    fairness(samples, asked),
    latencies(samples, asked),
    kills(samples, asked),
    goals(samples),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Listed first, because failures invalidate results or reveal a bug. */
function failures({ failures }: Samples): string {
  if (failures.length === 0) return "";
  const lines = failures.map(
    ({ system, workload, reason }) => `- **${titleOf(system)}, ${workload}**: ${reason}`,
  );
  return `Failed, not run again:\n\n${lines.join("\n")}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

const rateWorkloads = ({ workloads }: Asked): RateWorkload[] =>
  (Object.keys(RATE_WORKLOADS) as RateWorkload[]).filter((name) => workloads.has(name));

const rowsOf = ({ systems, rawSqlite }: Asked) => [
  ...systems.map(({ name, title, synced }) => ({ name, title, synced: synced ? "yes" : "no" })),
  ...(rawSqlite ? [{ ...RAW_SQLITE, synced: "yes" }] : []),
];

function rates(samples: Samples, asked: Asked): string {
  const shown = rateWorkloads(asked);
  if (shown.length === 0) return "";
  const rows = rowsOf(asked).map(({ name, title, synced }) => [
    title,
    synced,
    ...shown.map((workload) => rateCell(samples, name, workload)),
  ]);
  const head = ["system", "synced before ack", ...shown.map((name) => RATE_WORKLOADS[name])];
  return `Per second, median of the rounds:\n\n${table(head, rows)}`;
}

function rateCell(samples: Samples, system: string, workload: RateWorkload): string {
  const best = samples.best(system, workload);
  if (best.length > 0) {
    const rate = Math.round(medianOf(best, (each) => each.perSecond)).toLocaleString("en");
    const failed = samples.reason(system, workload) !== undefined;
    return failed ? `${rate} (${best.length} rounds before it failed)` : rate;
  }
  return notMeasured(samples, system, workload) ?? "–";
}

function notMeasured(samples: Samples, system: string, workload: string): string | undefined {
  const reason = samples.reason(system, workload);
  return reason && `not measured: ${reason}`;
}

/** Lists the results of systems with several configurations, and how often each was the best. */
function configurations(samples: Samples, asked: Asked): string {
  const lines = asked.systems.flatMap(({ name, title }) =>
    rateWorkloads(asked).flatMap((workload) => {
      const own = samples.rates.filter(
        (each) => each.system === name && each.workload === workload,
      );
      const configurationNames = [...new Set(own.map((each) => each.way))];
      if (configurationNames.length < 2) return [];
      const best = samples.best(name, workload);
      const each = configurationNames.map((way) => {
        const rate = medianOf(
          own.filter((sample) => sample.way === way),
          (sample) => sample.perSecond,
        );
        const won = best.filter((sample) => sample.way === way).length;
        return `${way} ${Math.round(rate).toLocaleString("en")} (best in ${won} rounds)`;
      });
      return [`- ${title}, ${RATE_WORKLOADS[workload]}: ${each.join("; ")}`];
    }),
  );
  return lines.length === 0 ? "" : `Configurations:\n\n${lines.join("\n")}`;
}

function ratios(samples: Samples, asked: Asked): string {
  const own = asked.systems.filter((system) => system.name.startsWith("baton-"));
  const others = rowsOf(asked).filter(({ name }) => !name.startsWith("baton-"));
  const rows = rateWorkloads(asked).flatMap((workload) =>
    own.flatMap((system) =>
      others.flatMap((other) => ratioRow(samples, { workload, system, other })),
    ),
  );
  if (rows.length === 0) return "";
  const head = [
    "workload",
    "Baton",
    "compared with",
    "ratio (median)",
    "ratio per round",
    "goal",
    "met",
  ];
  return `Rate of Baton divided by the rate of the other system in the same round:\n\n${table(head, rows)}`;
}

function ratioRow(
  samples: Samples,
  { workload, system, other }: Pairing,
): readonly (readonly string[])[] {
  const found = samples.ratios(workload, system.name, other.name);
  if (found.length === 0) return [];
  const goal = RATIO_GOALS.find(
    (each) =>
      each.workload === workload && each.system === system.name && each.against === other.name,
  )?.atLeast;
  const failed = samples.reason(system.name, workload) !== undefined;
  const middle = median(found);
  return [
    [
      RATE_WORKLOADS[workload],
      system.title,
      other.title,
      `**${middle.toFixed(2)}**`,
      found.map((each) => each.toFixed(2)).join(" "),
      goal === undefined ? "–" : `≥ ${goal}`,
      goal === undefined ? "–" : middle >= goal && !failed ? "yes" : "**no**",
    ],
  ];
}

interface Pairing {
  readonly workload: RateWorkload;
  readonly system: System;
  readonly other: { readonly name: string; readonly title: string };
}

function fairness(samples: Samples, asked: Asked): string {
  const rows = asked.systems.flatMap(({ name, title }) => {
    const best = samples.best(name, "processes");
    if (best.length === 0) return [];
    const shares = best.map((each) =>
      (each.shares ?? []).map((share) => (share * 100).toFixed(0)).join("/"),
    );
    const worst = (figure: "operations" | "lockWaits") => {
      const tails = best.flatMap((each) => each[figure] ?? []);
      if (tails.length === 0) return "–";
      const max = Math.max(...tails.map((tail) => tail.max));
      return `${medianOf(tails, (tail) => tail.p999).toFixed(1)} / ${max.toFixed(1)}`;
    };
    return [[title, shares.join(" "), worst("operations"), worst("lockWaits")]];
  });
  const head = [
    "system",
    "share of each consumer in %, by round",
    "completion time, ms (p99.9 / max)",
    "lock wait, ms (p99.9 / max)",
  ];
  return rows.length === 0 ? "" : `Five processes:\n\n${table(head, rows)}`;
}

function latencies(samples: Samples, asked: Asked): string {
  if (!asked.workloads.has("latency")) return "";
  const rows = asked.systems.flatMap((system) =>
    system.ways.latency.map((way) => latencyRow(samples, system, way)),
  );
  const head = [
    "system",
    "receives with",
    "synced before ack",
    "p50",
    "p95",
    "p99",
    "max",
    "idle CPU %",
  ];
  return `Latency at 100 messages per second, in ms from the send call to the consumer in another process:\n\n${table(head, rows)}`;
}

function latencyRow(samples: Samples, system: System, way: string): readonly string[] {
  const own = samples.latencyOf(system.name, way);
  const first = [system.title, way, system.synced ? "yes" : "no"];
  if (own.length === 0) {
    return [...first, notMeasured(samples, system.name, "latency") ?? "–", "", "", "", ""];
  }
  const idle = own.flatMap((each) => each.idleCpuPercent ?? []);
  const figure = (of: (each: (typeof own)[number]) => number) => medianOf(own, of).toFixed(2);
  return [
    ...first,
    figure((each) => each.p50),
    figure((each) => each.p95),
    figure((each) => each.p99),
    figure((each) => each.max),
    idle.length === 0 ? "–" : median(idle).toFixed(3),
  ];
}

function kills(samples: Samples, asked: Asked): string {
  if (!asked.workloads.has("kill")) return "";
  const rows = asked.systems.flatMap(({ name, title, ways }) => {
    if (ways.kill.length === 0) return [];
    const found = samples.kills.find((each) => each.system === name);
    if (found === undefined) return [[title, notMeasured(samples, name, "kill") ?? "–"]];
    const { took, capMs } = found;
    const each = took.map((ms) =>
      ms === undefined ? `> ${capMs / 1000}` : (ms / 1000).toFixed(ms < 10_000 ? 3 : 1),
    );
    return [[title, each.join(" ")]];
  });
  const head = ["system", "seconds, per kill"];
  return `Time from killing a consumer to the redelivery of its message:\n\n${table(head, rows)}`;
}

function goals(samples: Samples): string {
  const rows = verdicts(samples).map(({ goal, measured, met }) => [
    goal,
    measured ?? "not measured",
    met === undefined ? "–" : met ? "yes" : "**no**",
  ]);
  return `Goals:\n\n${table(["goal", "measured", "met"], rows)}`;
}

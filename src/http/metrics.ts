/** Prometheus metrics of the hub: counts and latencies of calls in this process since it started. */

/** Upper bounds of the latency histogram, in seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

interface Series {
  readonly byStatus: Map<number, number>;
  readonly buckets: number[];
  sum: number;
  count: number;
}

/** Collects metrics and renders them. */
export class Metrics {
  readonly #series = new Map<string, Series>();
  #underWay = 0;
  #streams = 0;

  /** Counts a call as in progress. */
  begin(): void {
    this.#underWay++;
  }

  /** Counts a finished call. `seconds` is undefined for long polls, which are not part of the latencies. */
  end(operation: string, status: number, seconds: number | undefined): void {
    this.#underWay--;
    const series = this.#of(operation);
    series.byStatus.set(status, (series.byStatus.get(status) ?? 0) + 1);
    if (seconds === undefined) return;
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
    const at = bucket === -1 ? BUCKETS.length : bucket;
    series.buckets[at] = (series.buckets[at] ?? 0) + 1;
    series.sum += seconds;
    series.count++;
  }

  streamOpened(): void {
    this.#streams++;
  }

  streamClosed(): void {
    this.#streams--;
  }

  /** Returns the metrics in the Prometheus text format. */
  text(): string {
    const lines = [
      "# HELP baton_http_requests_total Answered calls by operation and status.",
      "# TYPE baton_http_requests_total counter",
    ];
    for (const [operation, { byStatus }] of this.#series) {
      for (const [status, count] of byStatus) {
        lines.push(
          `baton_http_requests_total{operation="${operation}",status="${status}"} ${count}`,
        );
      }
    }
    lines.push(
      "# HELP baton_http_request_duration_seconds Duration of calls, without long polls.",
      "# TYPE baton_http_request_duration_seconds histogram",
    );
    for (const [operation, series] of this.#series) lines.push(...durationsOf(operation, series));
    lines.push(
      ...gauge("baton_http_requests_under_way", "Calls in progress.", this.#underWay),
      ...gauge("baton_http_streams_open", "Open streams.", this.#streams),
      ...gauge(
        "process_resident_memory_bytes",
        "Resident memory of this process.",
        process.memoryUsage.rss(),
      ),
      ...gauge("process_uptime_seconds", "Time since this process started.", process.uptime()),
    );
    return `${lines.join("\n")}\n`;
  }

  #of(operation: string): Series {
    const known = this.#series.get(operation);
    if (known !== undefined) return known;
    const series = { byStatus: new Map(), buckets: [], sum: 0, count: 0 };
    this.#series.set(operation, series);
    return series;
  }
}

function durationsOf(operation: string, { buckets, sum, count }: Series): string[] {
  if (count === 0) return [];
  const name = "baton_http_request_duration_seconds";
  let upTo = 0;
  const lines = BUCKETS.map((bound, i) => {
    upTo += buckets[i] ?? 0;
    return `${name}_bucket{operation="${operation}",le="${bound}"} ${upTo}`;
  });
  return [
    ...lines,
    `${name}_bucket{operation="${operation}",le="+Inf"} ${count}`,
    `${name}_sum{operation="${operation}"} ${sum}`,
    `${name}_count{operation="${operation}"} ${count}`,
  ];
}

const gauge = (name: string, help: string, value: number): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} gauge`,
  `${name} ${value}`,
];

/** Counts what fuzzed calls were answered with, and lists the calls that broke a rule. */
import type { Spoiled } from "./mutate.ts";

export interface FuzzReport {
  readonly requests: number;
  readonly raw: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly byKind: Readonly<Record<string, number>>;
  /** Number of calls by HTTP method. */
  readonly byMethod: Readonly<Record<string, number>>;
  /** Number of calls by operation, however they were spoiled. */
  readonly byOperation: Readonly<Record<string, number>>;
  /** Operations that answered at least one call with 2xx. */
  readonly succeeded: ReadonlySet<string>;
  /** Broken rules, each with its call. */
  readonly violations: readonly string[];
}

export class Report implements FuzzReport {
  requests = 0;
  raw = 0;
  readonly byStatus: Record<string, number> = {};
  readonly byKind: Record<string, number> = {};
  readonly byMethod: Record<string, number> = {};
  readonly byOperation: Record<string, number> = {};
  readonly succeeded = new Set<string>();
  readonly violations: string[] = [];
  /** Number of senders that left before an answer; what they sent may take effect at any time. */
  unheard = 0;

  count(kind: string, status: number): void {
    this.requests++;
    this.byStatus[status] = (this.byStatus[status] ?? 0) + 1;
    this.byKind[kind] = (this.byKind[kind] ?? 0) + 1;
  }

  countMethod(method: string): void {
    this.byMethod[method] = (this.byMethod[method] ?? 0) + 1;
  }

  countOperation(name: string, status: number): void {
    this.byOperation[name] = (this.byOperation[name] ?? 0) + 1;
    if (status >= 200 && status < 300) this.succeeded.add(name);
  }

  countRaw(kind: string, statuses: readonly number[]): void {
    this.raw++;
    this.count(`bytes: ${kind}`, statuses[0] ?? 0);
  }

  /** Reports a write of a refused call, unless a sender that left may have caused it. */
  stored(about: Partial<Spoiled>, what: string): void {
    if (this.unheard > 0) this.unheard--;
    else this.violation(about, what);
  }

  violation(about: Partial<Spoiled>, what: string): void {
    const { name, kind, method, path, body, headers } = about;
    const said = {
      name,
      kind,
      method,
      path: path?.slice(0, 300),
      headers,
      body: body?.slice(0, 600),
    };
    this.violations.push(`${what}\n    ${JSON.stringify(said)}`);
  }

  /** Adds the counts and the broken rules of another report. */
  add(other: FuzzReport): void {
    this.requests += other.requests;
    this.raw += other.raw;
    addCounts(this.byStatus, other.byStatus);
    addCounts(this.byKind, other.byKind);
    addCounts(this.byMethod, other.byMethod);
    addCounts(this.byOperation, other.byOperation);
    for (const name of other.succeeded) this.succeeded.add(name);
    this.violations.push(...other.violations);
  }
}

function addCounts(sums: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
}

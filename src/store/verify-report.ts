/** What a verification reports, and where the chain of a branch ends. */

/** One thing that is not as it was written. */
export interface Problem {
  readonly record: string;
  readonly field: string;
  readonly message: string;
}

export interface VerifyReport {
  readonly memories: number;
  readonly relations: number;
  readonly envelopes: number;
  readonly deliveries: number;
  readonly agents: number;
  readonly problems: readonly Problem[];
}

export interface VerifyProgress {
  readonly checked: number;
  readonly total: number;
}

/** The last record of a branch, as its store keeps it. */
export interface ChainHead {
  readonly branch: string;
  readonly seq: number;
  readonly storedAt: number;
  readonly link: string;
}

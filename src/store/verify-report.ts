/** The report of a verification, and the head of a branch's chain. */

/** One difference between what is stored and what was written. */
export interface Problem {
  /** Id or name of the affected record. */
  readonly record: string;
  /** The affected field. */
  readonly field: string;
  readonly message: string;
}

/** How many rows of each kind were checked, and the problems found. */
export interface VerifyReport {
  readonly memories: number;
  readonly relations: number;
  readonly envelopes: number;
  readonly deliveries: number;
  readonly agents: number;
  readonly problems: readonly Problem[];
}

/** Progress of a verification, in rows. */
export interface VerifyProgress {
  readonly checked: number;
  readonly total: number;
}

/** A position on a chain, and the link of the record there. */
export interface ChainPoint {
  readonly branch: string;
  readonly seq: number;
  readonly link: string;
}

/** The last record of a branch, as the store recorded it. */
export interface ChainHead {
  readonly branch: string;
  readonly seq: number;
  readonly storedAt: number;
  readonly link: string;
}

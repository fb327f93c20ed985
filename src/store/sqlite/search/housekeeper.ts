/**
 * The store's handle on its housekeeper thread: wakes it when there is enough to do and passes jobs to it.
 * Writes never wait for it.
 */

import { JobThread } from "../../../base/job-thread.ts";
import type { VerifyProgress } from "../../verify-report.ts";
import type { Job, JobResults } from "./housekeeper-protocol.ts";

/**
 * The backlog at which the thread is woken: records to index (scanning that many takes about a millisecond)
 * plus commits to checkpoint.
 */
const WAKE_BACKLOG = 512;

/** Starts the thread on first use. */
export class Housekeeper {
  readonly #thread: JobThread<Job, JobResults[Job["kind"]], VerifyProgress>;
  #backlog = 0;

  constructor(file: string) {
    this.#thread = new JobThread(file, { module: "./housekeeper-thread", base: import.meta.url });
  }

  /** Called after a commit: adds to the backlog and wakes the thread when it is worth it. */
  committed(appended: number): void {
    this.#backlog += 1 + appended;
    if (this.#backlog < WAKE_BACKLOG) return;
    try {
      this.#thread.notice();
      this.#backlog = 0;
    } catch {
      // The thread cannot be started now. The commit is durable, and the next one retries.
    }
  }

  /** Runs a job in the thread. */
  run<Kind extends Job["kind"]>(
    job: Extract<Job, { kind: Kind }>,
    onProgress?: (progress: VerifyProgress) => void,
  ): Promise<JobResults[Kind]> {
    return this.#thread.run(job, onProgress) as Promise<JobResults[Kind]>;
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}

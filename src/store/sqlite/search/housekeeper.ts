/**
 * The store's side of its housekeeper: wakes the thread when there is enough to do, hands it jobs, and
 * never makes a write wait for it.
 */
import type { VerifyProgress } from "../../verify-report.ts";
import type { Job, JobResults } from "./housekeeper-protocol.ts";
import { JobThread } from "./job-thread.ts";

/**
 * How much may pile up before the thread is woken: records to index (scanning that many takes
 * about a millisecond) and commits to checkpoint.
 */
const WAKE_BACKLOG = 512;

export class Housekeeper {
  readonly #thread: JobThread<Job, JobResults[Job["kind"]], VerifyProgress>;
  #backlog = 0;

  constructor(file: string) {
    this.#thread = new JobThread(file, { module: "./housekeeper-thread", base: import.meta.url });
  }

  /** After a commit: counts what has piled up, and wakes the thread when it is worth it. */
  committed(appended: number): void {
    this.#backlog += 1 + appended;
    if (this.#backlog < WAKE_BACKLOG) return;
    try {
      this.#thread.notice();
      this.#backlog = 0;
    } catch {
      // No thread to be had right now: what was committed is safe, the next commit asks again.
    }
  }

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

/**
 * Thrown by an operation that has to refuse after it has written. Its writes are rolled back, and the caller
 * gets the outcome.
 */
export class Refusal<Outcome> extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome, options?: ErrorOptions) {
    super("refused after writing", options);
    this.outcome = outcome;
  }
}

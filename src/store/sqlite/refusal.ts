/**
 * Thrown by an operation that has already written and then finds that it must refuse: takes its
 * writes back and answers with the outcome.
 */
export class Refusal<Outcome> extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super("refused after writing");
    this.outcome = outcome;
  }
}

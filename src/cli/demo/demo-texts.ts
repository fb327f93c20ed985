/** Texts of the demo's agents. They are scripted, so that the demo needs no model. */

export const PLAN = "Extract the JWT validator, rate-limit logins, run the tests.";
export const INTENT = "Refactor auth without breaking mobile logins";
export const NEXT = ["Extract validateToken() into its own module", "Run the tests"];
export const MUST = "Do not touch the test fixtures";
export const DO_NOT_REDO = "Choosing a JWT library: jose is settled";
export const NOTE_BEFORE_DEATH = "validateToken() is extracted; 2 of 5 call sites moved.";
export const NOTE = "All 5 call sites moved, 47 of 47 tests pass.";
export const REVIEW = "Review the error paths of validateToken()";
export const VERDICT = "Approved: 47 of 47 tests pass, the fixtures are unchanged.";

/** Lease in the demo; short, because the demo waits until it expires (default lease: 60 s). */
export const SHORT_LEASE_MS = 500;

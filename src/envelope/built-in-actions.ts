/** Actions and payload types of handoffs that Baton composes itself. No workspace can refuse them. */

/** A person changed a handoff and sends it on. */
export const EDITED_ACTION = "edited";
/** A change of the shared context is proposed to its keepers. */
export const PROPOSED_ACTION = "proposed";
export const CONTEXT_CHANGE_TYPE = "context-change";

/** Completed work goes to the next receiver by a route, with its outputs as payload. */
export const COMPLETED_ACTION = "completed";
export const resultType = (outcome: string | undefined): string => `result ${outcome}`;
export const isResultType = (type: string): boolean => type.startsWith("result ");

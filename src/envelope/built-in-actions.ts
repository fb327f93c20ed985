/** Actions and payload types of handoffs that Baton composes itself. A workspace cannot reject them. */

/** A person edited a handoff and sends it on. */
export const EDITED_ACTION = "edited";
/** A change of the shared context is proposed to the agents that maintain it. */
export const PROPOSED_ACTION = "proposed";
/** Payload type of such a proposal. */
export const CONTEXT_CHANGE_TYPE = "context-change";

/** Completed work goes to the next receiver by a route, with its outputs as the payload. */
export const COMPLETED_ACTION = "completed";
/** Returns the payload type of a routed result, by its outcome. */
export const resultType = (outcome: string | undefined): string => `result ${outcome}`;
/** Returns true for the payload type of a routed result. */
export const isResultType = (type: string): boolean => type.startsWith("result ");

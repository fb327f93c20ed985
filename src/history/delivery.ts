/** Deliveries as callers see them: absent means none, where the stored row has "" or 0. */
import { type DeliveryRow, type DeliveryState, isPublication } from "../store/rows.ts";

/** One envelope at one receiver: its state, its times and its holder. Times are store time in milliseconds. */
export interface Delivery {
  readonly id: string;
  /** The newest envelope: a sender can extend work that is open. */
  readonly envelope: string;
  readonly task: string;
  /** Name of the agent that sent it. */
  readonly sender: string;
  /** An agent's id, or `role:<role>`. */
  readonly receiver: string;
  /** The envelope this work continues; absent for the first handoff of a line and for publications. */
  readonly parent?: string;
  readonly state: DeliveryState;
  /** Orders the receiver's inbox: a delivery with a smaller place is offered first. */
  readonly place: number;
  /** False while an earlier delivery of the same receiver and task is open: that one is claimed first. */
  readonly inTurn: boolean;
  /** The number of claims so far. */
  readonly attempt: number;
  /** Claims after which it becomes a dead letter. */
  readonly maxAttempts: number;
  /** Increases with every claim. A holder with a smaller fence has lost the work. */
  readonly fence: number;
  /** The agent that holds the delivery, or held it last. */
  readonly holder?: string;
  /** The session of the holder. */
  readonly instance?: string;
  /** What the lease is bound to: a process ends it when it dies, a session only by time. */
  readonly lease?: "process" | "session";
  /** End of the current lease. */
  readonly leaseUntil?: number;
  /** The latest time to which the lease can be renewed. */
  readonly holdUntil?: number;
  readonly sentAt: number;
  /** A scheduled delivery cannot be claimed before this time. */
  readonly readyAt?: number;
  /** When its content was first shown to a receiver. */
  readonly seenAt?: number;
  readonly acceptedAt?: number;
  readonly settledAt?: number;
  /** It must be settled by this time. */
  readonly deadline?: number;
  /** When its policy next takes effect: a reminder, an accept timeout or the deadline. */
  readonly lapseAt?: number;
  /** The memory that records the acceptance. */
  readonly acceptedBy?: string;
  /** The memory that records the settlement. */
  readonly settledBy?: string;
  /** Deliveries that wait for this one (joins). */
  readonly followers: readonly string[];
}

/** A delivery that an offer or accepted work holds. */
export interface HeldDelivery extends Delivery {
  readonly holder: string;
  readonly instance: string;
  readonly leaseUntil: number;
}

/** Converts a stored delivery. */
export function deliveryOf(row: DeliveryRow): Delivery {
  const parent = isPublication(row.parent) ? "" : row.parent;
  return {
    id: row.id,
    envelope: row.envelope,
    task: row.task,
    sender: row.sender,
    receiver: row.receiver,
    ...(parent !== "" && { parent }),
    state: row.state,
    place: row.place,
    inTurn: row.inTurn,
    attempt: row.attempt,
    maxAttempts: row.maxAttempts,
    fence: row.fence,
    ...(row.holder !== "" && { holder: row.holder }),
    ...(row.instance !== "" && { instance: row.instance }),
    ...(row.leaseUntil > 0 && { lease: row.process === "" ? "session" : "process" }),
    ...(row.leaseUntil > 0 && { leaseUntil: row.leaseUntil }),
    ...(row.holdUntil > 0 && { holdUntil: row.holdUntil }),
    sentAt: row.sentAt,
    ...(row.readyAt > 0 && { readyAt: row.readyAt }),
    ...(row.seenAt > 0 && { seenAt: row.seenAt }),
    ...(row.acceptedAt > 0 && { acceptedAt: row.acceptedAt }),
    ...(row.settledAt > 0 && { settledAt: row.settledAt }),
    ...(row.deadline > 0 && { deadline: row.deadline }),
    ...(row.lapseAt > 0 && { lapseAt: row.lapseAt }),
    ...(row.acceptedBy !== "" && { acceptedBy: row.acceptedBy }),
    ...(row.settledBy !== "" && { settledBy: row.settledBy }),
    followers: row.followers === "" ? [] : row.followers.split(" "),
  };
}

/** Converts a stored delivery that is held. */
export function heldDeliveryOf(row: DeliveryRow): HeldDelivery {
  const { holder, instance, leaseUntil } = row;
  return { ...deliveryOf(row), holder, instance, leaseUntil };
}

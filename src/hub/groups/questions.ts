/**
 * `agent.questions` and `agent.approvals`: questions to this agent, and decisions of a person about handoffs.
 */

import type { Worker } from "../../delivery/receive/worker.ts";
import { answer, listQuestions, type OpenQuestion } from "../../delivery/settle/questions.ts";
import {
  type Approval,
  approve,
  type Decider,
  type Edit,
  edit,
  reject,
  reply,
} from "../../delivery/work/person-decisions.ts";
import type { Delivery } from "../../history/delivery.ts";
import type { Workspace } from "../../workspace/workspace.ts";
import { LocalWork } from "../local-work.ts";
import type { Sent } from "../sent.ts";
import type { Call } from "./call.ts";

/** `agent.questions`: questions that receivers ask about handoffs of this agent. */
export interface Questions {
  /** Returns the open questions of receivers about handoffs that this agent sent. */
  list(): Promise<OpenQuestion[]>;
  /** Answers a question by its delivery; the work is offered again with the answer. */
  answer(delivery: string, text: string): Promise<Delivery>;
}

/** `seen`: the id of the newest envelope, needed if the sender extended work that was accepted before. */
interface SeenOptions {
  readonly seen?: string | undefined;
}

/** `agent.approvals`: decisions of a person, each of which accepts and settles a handoff in one call. */
export interface Approvals {
  /** Accepts a handoff and completes it with the approval it asks for. */
  approve(delivery: string, options?: Approval): Promise<Delivery>;
  /** Accepts a handoff and completes it with the text it asks for. */
  reply(delivery: string, text: string, options?: SeenOptions): Promise<Delivery>;
  /** Accepts a handoff and declines it. */
  reject(delivery: string, reason: string, options?: SeenOptions): Promise<Delivery>;
  /** Accepts a handoff and returns it to its sender with changes, as a new envelope. */
  edit(delivery: string, changes: Edit): Promise<Sent<object>>;
}

/** Returns `agent.questions` for a session. */
export const questions = (workspace: Workspace, self: Worker, call: Call): Questions => ({
  list: () => call(() => listQuestions(workspace, self.agent)),
  answer: (delivery, text) => call(() => answer(workspace, self, delivery, text)),
});

/** Returns `agent.approvals` for a session. */
export function approvals(workspace: Workspace, self: Worker, call: Call): Approvals {
  const decider: Decider<Sent<object>> = {
    workspace,
    person: self,
    open: (holder, accepted) => new LocalWork(workspace, holder, accepted),
  };
  return {
    approve: (delivery, options = {}) => call(() => approve(decider, delivery, options)),
    reply: (delivery, text, options = {}) =>
      call(() => reply(decider, delivery, { ...options, text })),
    reject: (delivery, reason, options = {}) =>
      call(() => reject(decider, delivery, { ...options, reason })),
    edit: (delivery, changes) => call(() => edit(decider, delivery, changes)),
  };
}

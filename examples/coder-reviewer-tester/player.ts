/** The common interface of the agents: each gets one delivery at a time and settles it. */
import type { Agent, Work } from "batonpass";
import type { Say } from "./messages.ts";
import type { Project } from "./project.ts";

export interface Desk {
  readonly agent: Agent;
  readonly project: Project;
  readonly say: Say;
}

export type Player = (work: Work, desk: Desk) => Promise<void>;

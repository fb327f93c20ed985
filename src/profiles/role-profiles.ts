/**
 * The built-in role profiles: how much each type of memory, each part of a handoff and each way of finding
 * records weighs in the views of a role. They are data, so that a team can read and change them
 * (workspace-profiles.ts). A weight of 1 is neutral; 0 excludes something.
 */
import * as z from "zod";
import { FORMAT_LIMITS } from "../base/limits.ts";
import { Slug, VIEW_STRATEGIES } from "../envelope/schema.ts";
import { PARTS, SECTIONS } from "./view-parts.ts";

const Weight = z.number().min(0).max(10);
const Share = z.number().min(0).max(0.95);
const Label = z.string().min(1).max(FORMAT_LIMITS.nameLength);

/** A profile as a team writes it; absent fields keep their defaults. */
export const ProfileSchema = z.strictObject({
  /** Weights of the parts of a handoff that are included only if they fit. */
  parts: z.partialRecord(z.enum(PARTS), Weight).optional(),
  /** Shares of the receiver's context window that the view leaves free. */
  reserve: z
    .strictObject({
      instructions: Share.optional(),
      system: Share.optional(),
      work: Share.optional(),
    })
    .optional(),
  /** Weights of the sections, by where something was found. */
  sections: z.partialRecord(z.enum(SECTIONS), Weight).optional(),
  strategy: z.enum(VIEW_STRATEGIES).optional(),
  tags: z.record(Label, Weight).optional(),
  /** Maximum tokens of the view, regardless of the window. */
  tokens: z.int().positive().optional(),
  /** Weights of the types of memories. */
  types: z.record(Slug, Weight).optional(),
});

/** A profile as a team writes it. */
export type RoleProfile = z.input<typeof ProfileSchema>;

/** A profile with every field set: the workspace's values over those of the role over the neutral ones. */
export interface FullProfile {
  readonly parts: Readonly<Record<string, number>>;
  /** Shares of the receiver's context window to leave free, from 0 to 1. */
  readonly reserve: {
    readonly instructions: number;
    readonly system: number;
    readonly work: number;
  };
  readonly sections: Readonly<Record<string, number>>;
  /** Undefined if the envelope or the default decides. */
  readonly strategy: (typeof VIEW_STRATEGIES)[number] | undefined;
  readonly tags: Readonly<Record<string, number>>;
  /** Undefined if only the window limits the view. */
  readonly tokens: number | undefined;
  readonly types: Readonly<Record<string, number>>;
}

/**
 * The profile of a role without one. Records that the sender named weigh more than records related to them,
 * and those more than search results; binding items weigh more than events.
 */
export const NEUTRAL_PROFILE: FullProfile = {
  parts: {
    next: 10,
    failure: 10,
    attempts: 10,
    expects: 9,
    doNotRedo: 10,
    results: 9,
    flags: 9,
    state: 8,
    blocked: 8,
    gaps: 8,
    constraints: 7,
    artifacts: 5,
    done: 9,
    reconstructed: 5,
    history: 4,
    payload: 8,
    released: 3,
    details: 2,
  },
  reserve: { system: 0.1, instructions: 0.1, work: 0.5 },
  sections: { task: 8, earlier: 1, references: 6, neighbours: 2.5, recent: 2.5, recalled: 2 },
  strategy: undefined,
  tags: {},
  tokens: undefined,
  types: {
    constraint: 1.6,
    decision: 1.5,
    convention: 1.3,
    plan: 1.2,
    summary: 1.2,
    lesson: 1.2,
    mistake: 1.2,
    question: 1.1,
    checkpoint: 0.8,
    artifact: 0.8,
    step: 0.6,
    action: 0.6,
  },
};

/** The profiles of the built-in roles, as differences to the neutral profile. */
export const ROLE_PROFILES: Readonly<Record<string, RoleProfile>> = {
  planner: {
    parts: { history: 6, released: 5 },
    types: {
      plan: 2.2,
      decision: 1.9,
      question: 1.9,
      constraint: 1.6,
      summary: 1.5,
      finding: 1.2,
      convention: 0.6,
      artifact: 0.5,
      step: 0.4,
      action: 0.4,
    },
    tags: { architecture: 1.5, scope: 1.5, risk: 1.5 },
  },
  coder: {
    parts: { artifacts: 7 },
    types: {
      convention: 2.2,
      artifact: 1.9,
      constraint: 1.7,
      plan: 1.6,
      decision: 1.4,
      mistake: 1.2,
      fact: 1.1,
      summary: 0.8,
      finding: 0.8,
      question: 0.5,
      lesson: 0.7,
    },
    tags: { api: 1.5, code: 1.5, style: 1.5 },
  },
  reviewer: {
    parts: { artifacts: 8, history: 6 },
    types: {
      decision: 2.2,
      constraint: 2,
      convention: 1.6,
      lesson: 1.6,
      action: 1.2,
      artifact: 1.2,
      mistake: 1.1,
      finding: 0.7,
      fact: 0.7,
      plan: 0.6,
      question: 0.6,
      step: 0.5,
    },
    tags: { review: 1.5, security: 1.7, style: 1.3 },
  },
  tester: {
    parts: { artifacts: 7, expects: 10 },
    types: {
      mistake: 2.4,
      finding: 1.7,
      constraint: 1.6,
      lesson: 1.4,
      fact: 1.3,
      artifact: 1.1,
      action: 0.9,
      decision: 0.7,
      convention: 0.6,
      plan: 0.5,
      question: 0.8,
    },
    tags: { bug: 1.7, "edge-case": 1.7, regression: 1.7, test: 1.7 },
  },
  researcher: {
    parts: { blocked: 9 },
    types: {
      question: 2.2,
      finding: 2,
      fact: 1.7,
      summary: 1.4,
      lesson: 1.2,
      decision: 0.8,
      plan: 0.7,
      artifact: 0.5,
      convention: 0.4,
      step: 0.3,
    },
    sections: { recalled: 3.2, neighbours: 3.2, recent: 1.8 },
    tags: { evidence: 1.5, source: 1.5 },
  },
};

/** Other names for the built-in roles. */
export const ROLE_ALIASES: Readonly<Record<string, string>> = {
  architect: "planner",
  lead: "planner",
  developer: "coder",
  engineer: "coder",
  implementer: "coder",
  programmer: "coder",
  auditor: "reviewer",
  critic: "reviewer",
  qa: "tester",
  analyst: "researcher",
};

/** Random envelopes and candidates with text that is hard to count in tokens. */
import type { Candidate } from "../../../src/context/view/candidates.ts";
import type { GatheredContext } from "../../../src/context/view/gather.ts";
import {
  CONSTRAINT_LEVELS,
  DETAIL_LEVELS,
  type Envelope,
  EnvelopeSchema,
  VIEW_STRATEGIES,
} from "../../../src/envelope/schema.ts";
import type { EarlierAttempt } from "../../../src/history/earlier-attempts.ts";
import { MEMORY_TYPES, type Memory } from "../../../src/memory/record.ts";
import { NEUTRAL_PROFILE, ROLE_PROFILES } from "../../../src/profiles/role-profiles.ts";
import { profileOf } from "../../../src/profiles/workspace-profiles.ts";
import { isTranscript } from "../../../src/text/transcript.ts";
import type { Random } from "../../support/random.ts";

/** Text that is hard to tokenize: seams, fences, control tokens, scripts, whitespace runs. */
const PIECES = [
  "the validator",
  " retries 3 times",
  "\n",
  "\n\n",
  " ",
  "   ",
  "\t",
  "/",
  "//",
  "\r\n",
  "«",
  "»»»",
  "<|endoftext|>",
  "<|im_start|>",
  "é",
  "東京都",
  "👩‍💻",
  "don't",
  "validateToken()",
  "1234567",
  ". ",
  "! Never ",
  "user: ",
  "\nassistant: ",
  "{}[]",
  "--",
  "\u2028",
  "\u00a0",
  "a",
  "'s",
  "'S ",
] as const;

export function randomText(random: Random, most: number): string {
  let text = "";
  const pieces = 1 + random.below(most);
  for (let i = 0; i < pieces; i++) text += random.pick(PIECES);
  return text;
}

const hex = (random: Random, length: number): string =>
  Array.from({ length }, () => random.below(16).toString(16)).join("");

const id = (random: Random, prefix: string): string =>
  `${prefix}_${hex(random, 8)}-${hex(random, 4)}-7${hex(random, 3)}-8${hex(random, 3)}-${hex(random, 12)}`;

function randomMemory(random: Random): Memory {
  const content = randomText(random, random.chance(0.05) ? 300 : 40);
  return {
    agent: "planner",
    branch: "main",
    content,
    createdAt: 1_700_000_000_000 + random.below(1e9),
    digest: hex(random, 64),
    id: id(random, "mem"),
    instance: "ses",
    link: "",
    salt: "",
    seq: 1,
    session: "ses",
    storedAt: 0,
    type: random.pick(MEMORY_TYPES),
    ...(random.chance(0.3) && { importance: random.next() }),
    ...(random.chance(0.3) && { tags: [random.pick(["test", "security", "style"])] }),
    ...(random.chance(0.5) && { task: random.pick(["auth", "billing"]) }),
  };
}

const FOUND = ["references", "neighbours", "recent", "recalled", "task"] as const;

function randomCandidate(random: Random): Candidate {
  const memory = randomMemory(random);
  // Pins are rare in practice; with too many of them nothing would ever fit.
  const section = random.chance(0.9) ? random.pick(FOUND) : "pins";
  const isNamed = section === "references" || section === "task";
  return {
    memory,
    section,
    relevance: random.next(),
    ...(section !== "pins" && isTranscript(memory.content) && { log: true as const }),
    ...(isNamed && { freshness: random.pick(["fresh", "stale"]) }),
    ...(isNamed && random.chance(0.3) && { summary: randomText(random, 20) }),
    ...(isNamed && random.chance(0.3) && { level: random.pick(DETAIL_LEVELS) }),
    ...(isNamed && random.chance(0.2) && { insteadOf: id(random, "mem") }),
  };
}

const times = <T>(random: Random, below: number, make: (i: number) => T): T[] =>
  Array.from({ length: random.below(below) }, (_, i) => make(i));

/** Returns text of one or several lines that is never blank. */
const line = (random: Random): string => `x${randomText(random, 8)}`;

export function randomEnvelope(random: Random): Envelope {
  return EnvelopeSchema.parse({
    action: "delegated",
    artifacts: times(random, 3, () => ({ kind: "file", path: line(random) })),
    blocked: times(random, 2, () => ({ what: line(random), on: line(random) })),
    constraints: times(random, 4, (i) => ({
      id: `c${i}`,
      level: random.pick(CONSTRAINT_LEVELS),
      rule: line(random),
      source: line(random),
    })),
    decisions: times(random, 3, (i) => ({
      id: `d${i}`,
      question: line(random),
      options: times(random, 3, () => line(random)),
    })),
    doNotRedo: times(random, 3, () => line(random)),
    done: times(random, 5, () => line(random)),
    expects: times(random, 2, () => ({ name: "report", type: "text", criteria: [line(random)] })),
    from: { agent: "planner", instance: "ses" },
    history: times(random, 4, () => ({ agent: "planner", did: line(random), why: line(random) })),
    hop: random.below(5),
    id: id(random, "env"),
    intent: line(random),
    metadata: { createdAt: 1_700_000_000_000 },
    next: times(random, 4, () => line(random)),
    ...(random.chance(0.3) && { origin: line(random) }),
    ...(random.chance(0.5) && { state: randomText(random, 40) }),
    ...(random.chance(0.2) && { payload: { type: "patch", data: randomData(random) } }),
    task: "auth",
    to: { agent: "coder", kind: "agent" },
    version: "1.0",
    workspace: "default",
  });
}

/** Returns data that ranges from nothing to more than fits any budget. */
const randomData = (random: Random): object =>
  random.pick<object>([
    {},
    { note: line(random) },
    { diff: randomText(random, 400), files: times(random, 5, () => line(random)) },
  ]);

const randomAttempt = (random: Random, attempt: number): EarlierAttempt => ({
  attempt,
  at: 1_700_000_000_000,
  by: "coder",
  outcome: "failed",
  message: randomText(random, 40),
  hints: times(random, 3, () => line(random)),
  notes: times(random, 3, () => ({ id: id(random, "mem"), at: 0, text: randomText(random, 40) })),
});

export function randomGathered(random: Random): GatheredContext {
  const gaps = times(random, 3, () => ({ id: id(random, "mem"), reason: line(random) }));
  const candidates = times(random, 14, () => randomCandidate(random));
  const resolved = candidates.filter(({ freshness }) => freshness !== undefined).length;
  const replaced = times(random, 2, () => id(random, "mem"));
  const requested = resolved + gaps.length;
  const attempts = times(random, 3, (i) => randomAttempt(random, i + 1));
  const earlier = {
    envelopes: times(random, 3, () => randomEnvelope(random)),
    progress: [],
    released: [],
    inherited: [],
    retried: [],
  };
  return {
    candidates,
    gaps,
    replaced,
    artifacts: [],
    attempts,
    earlier,
    older: [],
    requested,
    resolved,
  };
}

export const randomProfile = (random: Random) =>
  random.chance(0.2)
    ? NEUTRAL_PROFILE
    : profileOf(random.pick(Object.keys(ROLE_PROFILES) as [string, ...string[]]));

export const randomStrategy = (random: Random) => random.pick(VIEW_STRATEGIES);

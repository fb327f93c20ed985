/**
 * Every command by its first word, in the order help shows them. One file is loaded for a call; all
 * of them only for help, and for telling which word was meant.
 */
import type { Command } from "./command.ts";

type Load = () => Promise<readonly Command[]>;

export const WORDS: Readonly<Record<string, Load>> = {
  demo: async () => [(await import("./commands/demo.ts")).demo],
  handoff: async () => [
    (await import("./commands/handoff-send.ts")).handoffSend,
    (await import("./commands/handoff-show.ts")).handoffShow,
  ],
  line: async () => [(await import("./commands/line.ts")).line],
  inbox: async () => [(await import("./commands/inbox.ts")).inbox],
  accept: async () => [(await import("./commands/accept.ts")).accept],
  note: async () => [(await import("./commands/note.ts")).note],
  complete: async () => [(await import("./commands/complete.ts")).complete],
  fail: async () => [(await import("./commands/fail.ts")).fail],
  decline: async () => [(await import("./commands/decline.ts")).decline],
  release: async () => [(await import("./commands/release.ts")).release],
  clarify: async () => [(await import("./commands/clarify.ts")).clarify],
  questions: async () => [(await import("./commands/questions.ts")).questions],
  answer: async () => [(await import("./commands/answer.ts")).answer],
  approve: async () => [(await import("./commands/approve.ts")).approve],
  reject: async () => [(await import("./commands/reject.ts")).reject],
  edit: async () => [(await import("./commands/edit.ts")).edit],
  cancel: async () => [(await import("./commands/cancel.ts")).cancel],
  dead: async () => (await import("./commands/dead.ts")).dead,
  channel: async () => (await import("./commands/channel.ts")).channel,
  route: async () => (await import("./commands/route.ts")).route,
  breaker: async () => (await import("./commands/breaker.ts")).breaker,
  recent: async () => [(await import("./commands/recent.ts")).recent],
  remember: async () => [(await import("./commands/remember.ts")).remember],
  agents: async () => [(await import("./commands/agents.ts")).agents],
  agent: async () => (await import("./commands/agent.ts")).agent,
  verify: async () => [(await import("./commands/verify.ts")).verify],
  schema: async () => [(await import("./commands/schema.ts")).schema],
};

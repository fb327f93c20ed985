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
  sql: async () => [(await import("./commands/sql.ts")).sql],
  recall: async () => [(await import("./commands/recall.ts")).recall],
  embed: async () => [(await import("./commands/embed.ts")).embed],
  recent: async () => [(await import("./commands/recent.ts")).recent],
  read: async () => [(await import("./commands/read.ts")).read],
  remember: async () => [(await import("./commands/remember.ts")).remember],
  branch: async () => (await import("./commands/branch.ts")).branch,
  impact: async () => [(await import("./commands/impact.ts")).impact],
  quarantine: async () => [(await import("./commands/quarantine.ts")).quarantine],
  agents: async () => [(await import("./commands/agents.ts")).agents],
  agent: async () => (await import("./commands/agent.ts")).agent,
  verify: async () => [(await import("./commands/verify.ts")).verify],
  export: async () => [(await import("./commands/export.ts")).exportCommand],
  import: async () => [(await import("./commands/import.ts")).importCommand],
  backup: async () => [(await import("./commands/backup.ts")).backup],
  restore: async () => [(await import("./commands/restore.ts")).restore],
  trace: async () => (await import("./commands/trace.ts")).trace,
  retention: async () => [(await import("./commands/retention.ts")).retention],
  prune: async () => [(await import("./commands/prune.ts")).prune],
  redact: async () => [(await import("./commands/redact.ts")).redact],
  schema: async () => [(await import("./commands/schema.ts")).schema],
};

/** Every command, in the order help shows them. */
import type { Command } from "./command.ts";
import { agents } from "./commands/agents.ts";
import { demo } from "./commands/demo.ts";
import { inbox } from "./commands/inbox.ts";
import { line } from "./commands/line.ts";
import { recent } from "./commands/recent.ts";
import { remember } from "./commands/remember.ts";
import { schema } from "./commands/schema.ts";
import { verify } from "./commands/verify.ts";

export const COMMANDS: readonly Command[] = [
  demo,
  line,
  inbox,
  recent,
  remember,
  agents,
  verify,
  schema,
];

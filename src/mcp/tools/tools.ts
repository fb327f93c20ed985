/** The list of all MCP tools, in the order a session uses them. */
import type { Tool } from "../tool.ts";
import { accept } from "./accept.ts";
import { agents } from "./agents.ts";
import { answer } from "./answer.ts";
import { catchUp } from "./catch-up.ts";
import { handOff } from "./hand-off.ts";
import { handoffRules } from "./handoff-rules.ts";
import { read } from "./read.ts";
import { recall } from "./recall.ts";
import { remember } from "./remember.ts";
import { update } from "./update.ts";
import { wait } from "./wait.ts";

export const TOOLS: readonly Tool[] = [
  catchUp,
  recall,
  read,
  remember,
  agents,
  handOff,
  accept,
  update,
  wait,
  answer,
  handoffRules,
];

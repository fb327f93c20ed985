/** All domains of the first generator. */
import type { Domain } from "../frame.ts";
import { catalogue } from "./catalogue.ts";
import { congress } from "./congress.ts";
import { handbook } from "./handbook.ts";
import { migration } from "./migration.ts";
import { model } from "./model.ts";
import { payments } from "./payments.ts";
import { pipeline } from "./pipeline.ts";
import { survey } from "./survey.ts";

export const DOMAINS: readonly [Domain, ...Domain[]] = [
  payments,
  pipeline,
  migration,
  handbook,
  congress,
  survey,
  catalogue,
  model,
];

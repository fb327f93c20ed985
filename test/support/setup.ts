/**
 * Setup of each test file, also of those that share a process. Random tests without a seed of their
 * own use the run's seed; behaviour tests skip what does not run over HTTP.
 */
import fc from "fast-check";
import { beforeEach } from "vitest";
import { skipOverHttp } from "./hub/not-over-http.ts";
import { chosenSeed } from "./random.ts";

fc.configureGlobal({ seed: chosenSeed() });
beforeEach(skipOverHttp);

/**
 * Before each test file, also of those that share a process. Random tests that do not choose a seed take the
 * run's; behaviour tests leave out what is not asked of a hub over HTTP.
 */
import fc from "fast-check";
import { beforeEach } from "vitest";
import { skipOverHttp } from "./hub/not-over-http.ts";
import { chosenSeed } from "./random.ts";

fc.configureGlobal({ seed: chosenSeed() });
beforeEach(skipOverHttp);

/** Before each test file: random tests that do not choose a seed take the run's. */
import fc from "fast-check";
import { chosenSeed } from "./random.ts";

fc.configureGlobal({ seed: chosenSeed() });

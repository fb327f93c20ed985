/** Where a run's build is: a folder named by the process that started the run, which its workers inherit. */
import { join } from "node:path";
import { ROOT } from "../run-script.ts";

const RUN = "BATON_TEST_RUN";

process.env[RUN] ??= String(process.pid);

/** As the package's folder: package.json, dist. */
export const BUILD = join(ROOT, "node_modules", ".cache", "test-build", process.env[RUN]);

/** The command line's entry. */
export const BATON = join(BUILD, "dist", "cli", "main.js");

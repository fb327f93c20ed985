/**
 * A hub in a process of its own that carries out what is due and never finishes: its function that decides
 * about failures does not return. `<address>`; prints a line when it is asked.
 */
import { openHub } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";

await openHub(process.argv[2], {
  coordinate: () => {
    sayLine("deciding");
    return new Promise(() => {});
  },
});
setInterval(() => {}, 60_000); // The timers of a hub do not keep its process alive.
sayLine("open");

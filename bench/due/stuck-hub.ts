/** A hub that takes the turn to carry out what is due and never finishes: `<address>`. Prints when it is asked. */
import { openHub } from "../../src/index.ts";

await openHub(process.argv[2], {
  coordinate: () => {
    process.stdout.write("deciding\n");
    return new Promise(() => {});
  },
});
setInterval(() => {}, 60_000); // The timers of a hub do not keep its process alive.
process.stdout.write("open\n");

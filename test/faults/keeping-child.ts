/**
 * The process that is killed: imports, exports, backs up or restores, and reports when it starts
 * and when it is done.
 * Usage: `keeping-child.ts import|export|backup|restore <store address> <file>`
 */
import { openHub, restore } from "../../src/index.ts";
import { sayLine } from "../support/child.ts";

const [verb = "", address = "", file = ""] = process.argv.slice(2);

if (verb === "restore") {
  sayLine("begun");
  await restore(file, address, { force: true });
} else {
  await using hub = await openHub(address);
  sayLine("begun");
  if (verb === "import") await hub.archive.import(file);
  else if (verb === "export") await hub.archive.exportTo(file);
  else if (verb === "backup") await hub.archive.backup(file);
  else throw new Error(`what is "${verb}"?`);
}
sayLine("done");

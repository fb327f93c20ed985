/**
 * The worker thread that searches large inputs for secrets, so that the hub answers other calls meanwhile.
 * One input at a time; texts in, positions out.
 */
import { parentPort } from "node:worker_threads";
import type { ThreadRequest, ThreadResponse } from "../../base/job-thread.ts";
import { type FieldText, findInField } from "../../envelope/mask-secrets.ts";
import type { SecretMatch } from "../../envelope/secrets.ts";

const port = parentPort;
if (port === null) throw new Error("the scanner runs in a worker thread only");

port.on("message", (message: ThreadRequest<readonly FieldText[]>) => {
  if (message.kind !== "job") return;
  const result = message.job.map((field) => findInField(field));
  port.postMessage({
    kind: "done",
    number: message.number,
    result,
  } satisfies ThreadResponse<readonly (readonly SecretMatch[])[]>);
});

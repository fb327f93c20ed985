/**
 * Dead letters: what nobody could do is parked, with every try and its reason. Somebody looks, puts
 * right what was wrong, and has it tried again. The old envelope stays as it was.
 */
import { openHub } from "batonpass";

await using hub = await openHub();
const planner = await hub.agent("planner", { role: "planner" });
const importer = await hub.agent("importer", { role: "importer" });

const sent = await planner.handoff({
  to: "importer",
  task: "import-june",
  intent: "The June figures are in the warehouse",
  payload: { type: "import", data: { file: "juen.csv" } },
});
await importOnce();

for (const { delivery, envelope, attempts } of await hub.dead()) {
  const reasons = attempts.map(({ reason }) => JSON.parse(reason).message);
  console.log(
    `${delivery.task} is ${delivery.state}: ${reasons.join("; ")}`,
    envelope.payload?.data,
  );
  await planner.redrive(delivery.id, {
    payload: { type: "import", data: { file: "june.csv" } }, // a new envelope; or nothing, or { to }
  });
}
await importOnce();

console.log(`${sent.task} is ${(await sent.status()).state}`);
const envelopes = (await hub.line(sent.task)).map(({ envelope }) => envelope.payload?.data);
console.log("its envelopes:", envelopes);

async function importOnce(): Promise<void> {
  await using work = await importer.accept<{ file: string }>();
  const file = work?.envelope.payload?.data.file;
  if (file === "june.csv") await work?.complete({ summary: "41,007 rows." });
  // Permanent: another try would not help. Otherwise it is tried `attempts` times.
  else await work?.fail({ class: "permanent", message: `There is no ${file}` });
}

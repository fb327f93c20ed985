/**
 * Dead letters: a delivery that was given up is kept with every attempt and its reason. An operator
 * fixes the cause and redrives it as a new envelope; the original does not change.
 */
import { type Hub, openHub } from "batonpass";

export async function importJune(hub: Hub, say: (text: string) => void): Promise<void> {
  const planner = await hub.agent("planner", { role: "planner" });
  const importer = await hub.agent("importer", { role: "importer" });

  const sent = await planner.handoff({
    to: "importer",
    task: "import-june",
    intent: "The June figures are in the warehouse",
    payload: { type: "import", data: { file: "juen.csv" } },
  });
  await importOnce();

  for (const { delivery, attempts } of (await hub.deadLetters.list()).items) {
    const reasons = attempts.map(({ reason }) => reason.message);
    say(`${delivery.task} is ${delivery.state}: ${reasons.join("; ")}`);
    await planner.deadLetters.redrive(delivery.id, {
      payload: { type: "import", data: { file: "june.csv" } }, // or unchanged, or with { to }
    });
  }
  await importOnce();

  say(`${sent.task} is ${(await sent.status()).state}`);
  const envelopes = (await hub.tasks.line(sent.task)).map(({ envelope }) => envelope.payload?.data);
  say(`its envelopes: ${JSON.stringify(envelopes)}`);

  async function importOnce(): Promise<void> {
    await using work = await importer.accept<{ file: string }>();
    const file = work?.envelope.payload?.data.file;
    if (file === "june.csv") await work?.complete({ summary: "41,007 rows." });
    // Permanent failures are not retried; others are, up to `attempts` times.
    else await work?.fail({ class: "permanent", message: `There is no ${file}` });
  }
}

if (import.meta.main) {
  await using hub = await openHub();
  await importJune(hub, console.log);
}

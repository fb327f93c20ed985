/**
 * Broadcast: one envelope on a channel, with a separate delivery for each subscriber. A slow
 * subscriber does not delay the others, and a late subscriber can still receive earlier
 * publications.
 */
import { type Agent, openHub } from "batonpass";

await using hub = await openHub();
await hub.channels.set("oauth-migration");
const researcher = await hub.agent("researcher", { role: "researcher" });
const coder = await hub.agent("coder", { role: "coder" });
const tester = await hub.agent("tester", { role: "tester" });
await coder.channels.subscribe("oauth-migration");
await tester.channels.subscribe("oauth-migration");

const published = await researcher.channels.publish("oauth-migration", {
  task: "oauth-2.1",
  intent: "Move to OAuth 2.1",
  done: ["Read the draft: the implicit grant is gone"],
});

await finish(coder, "PKCE everywhere.");
for (const one of published.each) {
  console.log(one.receivers[0], "is", (await one.status()).state);
}

const writer = await hub.agent("writer", { role: "writer" });
const { replayed } = await writer.channels.subscribe("oauth-migration", { from: "start" });
console.log("the writer subscribes late, and gets", replayed);

await finish(writer, "The guide is up to date.");
await finish(tester, "All flows covered.");
for (const one of published.each) {
  const answer = await one.completed();
  if (answer.kind === "completed") console.log(`${one.receivers[0]}: ${answer.result.summary}`);
}

async function finish(agent: Agent, summary: string): Promise<void> {
  await using work = await agent.accept();
  await work?.complete({ summary });
}

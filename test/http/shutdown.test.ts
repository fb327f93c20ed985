/** A hub in a process of its own, asked to stop: what is under way is answered, what waits ends, exit 0. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { BATON } from "../support/build/place.ts";
import { startChild } from "../support/child.ts";
import { open, tempFolder } from "../support/hub/support.ts";
import { until } from "../support/until.ts";
import { heardFrom, take } from "./events.ts";
import { as, posting } from "./support.ts";

interface Sent {
  readonly deliveries: readonly { readonly id: string }[];
}

const MAIN = pathToFileURL(BATON);

async function started(store: string) {
  const said = Promise.withResolvers<string>();
  const child = startChild(MAIN, ["start", "--port", "0", "--json", "--store", store], (line) =>
    said.resolve(line),
  );
  onTestFinished(async () => {
    child.kill();
    await child.ended;
  });
  void child.ended.then(({ stderr }) => said.reject(new Error(`it ended: ${stderr}`)));
  const { address } = JSON.parse(await said.promise) as { address: string };
  return { child, address };
}

describe("a hub that is asked to stop", { timeout: 120_000 }, () => {
  it("answers what is under way, ends what waits, keeps all it said yes to, exits with 0 [OPS-7]", async () => {
    const store = `sqlite:${join(tempFolder(), "hub.db")}`;
    const seed = await open(store);
    for (const name of ["ada", "bob", "cleo"]) await seed.agent(name, { role: "executor" });
    await seed.close();
    const { child, address } = await started(store);
    const call = (path: string, body: unknown, agent: string) =>
      fetch(`${address}${path}`, posting(body, as(agent)));

    const events = heardFrom(await fetch(`${address}/v1/events/stream`));
    const polls = [
      call("/v1/inbox/claim", { waitMs: 25_000 }, "cleo"),
      call("/v1/inbox/accept", { waitMs: 25_000 }, "cleo"),
    ];
    const draft = (task: string) => ({ draft: { to: "bob", task, intent: "Do it." } });
    const first = await call("/v1/handoffs", draft("first"), "ada");
    expect(first.status).toBe(200);
    await take(events, 1);
    const held = (await (await call("/v1/inbox/accept", {}, "bob")).json()) as {
      work: { delivery: { id: string } };
    };

    await until("both polls wait at the hub", async () => {
      const metrics = await (await fetch(`${address}/metrics`)).text();
      return metrics.includes("baton_http_requests_under_way 3\n"); // This one too.
    });
    const under = Array.from({ length: 50 }, (_, n) =>
      call("/v1/handoffs", draft(`task-${n}`), "ada").then(
        async (response) =>
          response.status === 200 ? ((await response.json()) as Sent) : undefined,
        () => undefined, // Came too late: it was never said yes to.
      ),
    );
    child.signal("SIGTERM");
    const sent = (await Promise.all(under)).filter((each) => each !== undefined);
    const answers = await Promise.all(polls.map(async (poll) => (await poll).json()));
    expect(answers).toEqual([{ offer: null }, { work: null }]);
    for await (const _ of events); // It ends.
    expect(await child.ended).toMatchObject({ code: 0, signal: null, stderr: "" });

    const after = await open(store);
    const stored = (await after.events.list({ after: 0, limit: 1_000 })).items.map(
      ({ delivery }) => delivery,
    );
    for (const { deliveries } of sent) expect(stored).toContain(deliveries[0]?.id);
    // The work is its session's, not the process's: it goes on at the next hub.
    expect((await after.deliveries.get(held.work.delivery.id)).delivery.state).toBe("accepted");
    expect((await after.deliveries.totals()).byState.claimed).toBe(0);
    expect((await after.verify()).problems).toEqual([]);
  });
});

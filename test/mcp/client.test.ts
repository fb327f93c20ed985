/** The official MCP client, over both transports and in both eras of the protocol. */
import type { Client } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { withoutNumbers } from "../support/fences.ts";
import { freshAddress } from "../support/hub/support.ts";
import { throughHub } from "./listen.ts";
import { call, ERAS, type Era, overHttp, overStdio, refused } from "./support.ts";

/** Connects two agents to one store, each on its own connection. */
type Team = (era: Era) => Promise<{ readonly ada: Client; readonly ben: Client }>;

const TRANSPORTS: Readonly<Record<string, Team>> = {
  stdio: async (era) => {
    const address = freshAddress();
    const ada = await overStdio(address, "ada", era);
    return { ada, ben: await overStdio(address, "ben", era) };
  },
  HTTP: async (era) => {
    const { url, close } = await throughHub();
    onTestFinished(close);
    const ada = await overHttp(url, "ada", era);
    return { ada, ben: await overHttp(url, "ben", era) };
  },
};

const CASES = Object.entries(TRANSPORTS).flatMap(([transport, team]) =>
  ERAS.map((era) => ({ transport, era, team })),
);

describe.each(CASES)(
  "the official client over $transport, $era",
  { timeout: 240_000 },
  ({ era, team }) => {
    it("catches up, remembers, recalls, hands off, accepts and completes [OPS-7]", async () => {
      const { ada, ben } = await team(era);
      expect(ada.getServerVersion()?.name).toBe("baton");
      expect(await call(ada, "catch_up")).toMatchObject({ agent: "ada", waiting: [], held: [] });

      const plan = await call(ada, "remember", {
        content: "Logins on old phones use the v1 token; keep accepting it.",
        type: "constraint",
        task: "auth",
      });
      const recalled = await call(ben, "recall", { question: "Which token do old phones use?" });
      expect(recalled["hits"]).toMatchObject([{ id: plan["id"], agent: "ada", task: "auth" }]);
      expect(withoutNumbers(recalled.text)).toContain(
        "«Logins on old phones use the v1 token; keep accepting it.»",
      );

      const sent = await call(ada, "hand_off", {
        to: "ben",
        task: "auth",
        intent: "Refactor auth without breaking logins on old phones",
        next: ["Extract validateToken()"],
        constraints: [{ rule: "Do not touch the fixtures" }],
        do_not_redo: ["Choosing a library"],
        refs: [plan["id"]],
      });
      expect(sent).toMatchObject({ status: "sent", task: "auth", receivers: ["ben"] });

      expect(await call(ben, "wait", { seconds: 5 })).toMatchObject({
        status: "work",
        handoff: sent["handoff"],
      });
      const caughtUp = await call(ben, "catch_up");
      expect(caughtUp["waiting"]).toMatchObject([{ handoff: sent["handoff"], from: "ada" }]);

      const work = await call(ben, "accept");
      expect(work).toMatchObject({ status: "accepted", handoff: sent["handoff"], attempt: 1 });
      expect(work.text).toContain("Extract validateToken()");
      expect(work.text).toContain("Do not touch the fixtures");
      const { handle } = work;
      expect((await call(ben, "catch_up"))["held"]).toMatchObject([{ handle, task: "auth" }]);

      const note = await call(ben, "update", { handle, action: "note", text: "Extracted." });
      expect(note).toMatchObject({ status: "noted" });
      const settled = await call(ben, "update", {
        handle,
        action: "complete",
        text: "validateToken() is on its own, all tests pass.",
      });
      expect(settled).toMatchObject({ status: "settled", state: "completed" });

      const outcome = await call(ada, "wait", { handoff: sent["handoff"], seconds: 5 });
      expect(outcome).toMatchObject({ status: "ended", state: "completed" });
      expect(withoutNumbers(outcome.text)).toContain(
        "«validateToken() is on its own, all tests pass.»",
      );
    });

    it("asks a question, gets the answer, and hands its work on [OPS-7]", async () => {
      const { ada, ben } = await team(era);
      const sent = await call(ada, "hand_off", {
        to: "ben",
        task: "docs",
        intent: "Write the page",
      });
      const first = await call(ben, "accept", { detail: "concise" });
      const question = "For whom is it?";
      await call(ben, "update", { handle: first["handle"], action: "clarify", text: question });

      const asked = await call(ada, "wait", { handoff: sent["handoff"], seconds: 5 });
      expect(asked).toMatchObject({ status: "asked", questions: [sent["handoff"]] });
      expect(withoutNumbers(asked.text)).toContain(`«${question}»`);
      expect(
        await call(ada, "answer", { handoff: sent["handoff"], text: "For operators." }),
      ).toEqual({
        text: expect.any(String),
        handoff: sent["handoff"],
        state: "ready",
      });

      const second = await call(ben, "accept", { wait_seconds: 5 });
      expect(second.text).toContain("For operators.");
      const on = await call(ben, "hand_off", {
        handle: second["handle"],
        to: "ada",
        action: "needs_review",
        next: ["Read it once as an operator would"],
        summary: "The page is written.",
      });
      expect(on).toMatchObject({ status: "sent", task: "docs", receivers: ["ada"] });
      const outcome = await call(ada, "wait", { handoff: sent["handoff"], seconds: 5 });
      expect(outcome.text).toContain(`Handed on as ${on["handoff"]}`);
      const spent = { handle: second["handle"], action: "complete", text: "Twice." };
      expect((await refused(ben, "update", spent)).code).toBe("lease_lost");
    });

    it("lists described resources and prompts, and completes their arguments [OPS-7]", async () => {
      const { ada, ben } = await team(era);
      const { id } = await call(ada, "remember", { content: "The build takes a minute." });
      const { handoff } = await call(ada, "hand_off", { to: "ben", task: "ci", intent: "Cut it" });

      const { resources } = await ben.listResources();
      const uris = resources.map(({ uri }) => uri);
      expect(uris).toEqual([
        "baton://inbox",
        "baton://context",
        "baton://agents",
        "baton://handoff-rules",
        `baton://handoff/${handoff}`,
      ]);
      expect(withoutNumbers(`${resources.at(-1)?.title}`)).toBe("«ci», from ada");
      const { resourceTemplates } = await ben.listResourceTemplates();
      const { prompts } = await ben.listPrompts();
      for (const each of [...resources, ...resourceTemplates, ...prompts]) {
        expect(each.description, each.name).toMatch(/\w{3}/);
      }
      for (const argument of prompts.flatMap((prompt) => prompt.arguments ?? [])) {
        expect(argument.description, argument.name).toMatch(/\w{3}/);
      }

      const textOf = async (uri: string): Promise<string> => {
        const { contents } = await ben.readResource({ uri });
        return contents.map((each) => ("text" in each ? each.text : "")).join();
      };
      expect(withoutNumbers(await textOf("baton://inbox"))).toContain(`${handoff} «ci» from ada`);
      expect(await textOf(`baton://handoff/${handoff}`)).toContain('"intent": "Cut it"');
      expect(withoutNumbers(await textOf(`baton://memory/${id}`))).toContain(
        "«The build takes a minute.»",
      );
      expect(withoutNumbers(await textOf("baton://agents"))).toMatch(
        /«role:agent», active.*\n- ada, .*\n- ben, you/s,
      );
      expect(await textOf("baton://context")).toMatch(/shared context is empty/);
      await expect(textOf(`baton://memory/${`${id}`.replace(/.$/, "_")}`)).rejects.toMatchObject({
        code: -32602,
      });

      const completed = await ben.complete({
        ref: { type: "ref/resource", uri: "baton://handoff/{id}" },
        argument: { name: "id", value: "dlv_" },
      });
      expect(completed.completion.values).toEqual([handoff]);
      const receivers = await ben.complete({
        ref: { type: "ref/prompt", name: "hand_off_task" },
        argument: { name: "to", value: "role" },
      });
      expect(receivers.completion.values).toEqual(["role:agent"]);
      const prompt = await ben.getPrompt({ name: "take_over_task", arguments: { task: "ci" } });
      expect(JSON.stringify(prompt.messages)).toContain("accept");
    });
  },
);

/** Payloads: typed objects that the hub validates against the schema that a team registered. */
import { describe, expect, expectTypeOf, it } from "vitest";
import * as z from "zod";
import type { DraftOf, EnvelopeOf, Hub, PayloadType, StandardSchemaV1 } from "../../src/index.ts";
import {
  canonical,
  contents,
  openFresh,
  refusal,
  type StoreName,
  sha256,
  take,
} from "../support/hub/support.ts";

interface Review {
  readonly files: string[];
  readonly risk: number;
}

const zodReview = z.object({ files: z.array(z.string()).min(1), risk: z.number().max(1) });

/** Returns a Standard Schema written by hand, without a library. */
function handWritten(answer: <T>(value: T) => T | Promise<T>): StandardSchemaV1<unknown, Review> {
  return {
    "~standard": {
      version: 1,
      vendor: "by-hand",
      validate: (value) => {
        const { files, risk } = value as Partial<Review>;
        const issues = [
          ...(files?.length ? [] : [{ message: "needs a file", path: ["files"] }]),
          ...(files ?? []).flatMap((file, i) =>
            typeof file === "string" ? [] : [{ message: "no path", path: [{ key: "files" }, i] }],
          ),
          ...(typeof risk === "number" && risk <= 1 ? [] : [{ message: "0 to 1", path: ["risk"] }]),
        ];
        return answer(issues.length > 0 ? { issues } : { value: value as Review });
      },
    },
  };
}

const jsonReview = {
  type: "object",
  properties: { files: { type: "array", minItems: 1 }, risk: { type: "number", maximum: 1 } },
  required: ["files", "risk"],
};

/** Uses keywords that only one draft has, so that validation in the wrong dialect fails. */
const withoutDraft = {
  ...jsonReview,
  properties: {
    ...jsonReview.properties,
    files: {
      type: "array",
      minItems: 1,
      prefixItems: [{ type: "string" }],
      items: { type: "string" },
    },
  },
};
const draft2020 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  ...withoutDraft,
};
const draft07 = {
  $schema: "http://json-schema.org/draft-07/schema#",
  ...jsonReview,
  properties: {
    ...jsonReview.properties,
    files: {
      type: "array",
      minItems: 1,
      items: [{ type: "string" }],
      additionalItems: { type: "string" },
    },
  },
};

const SCHEMAS = {
  "a Zod schema": zodReview,
  "a hand-written Standard Schema": handWritten((value) => value),
  "an asynchronous Standard Schema": handWritten(async (value) => value),
  "a JSON Schema (draft 2020-12)": draft2020,
  "a JSON Schema without a draft": withoutDraft,
  "a JSON Schema (draft-07)": draft07,
} satisfies Record<string, StandardSchemaV1<unknown, Review> | Record<string, unknown>>;

type Schema = (typeof SCHEMAS)[keyof typeof SCHEMAS];

/** Registers a Standard Schema in the process, a JSON Schema in the workspace. */
async function register(hub: Hub, schema: Schema): Promise<void> {
  if ("~standard" in schema) await hub.payloadTypes.define<Review>("review", schema);
  else await hub.payloadTypes.set("review", schema);
}

async function team(store: StoreName = "memory") {
  const hub = await openFresh(store);
  const coder = await hub.agent("coder", { role: "coder" });
  const reviewer = await hub.agent("reviewer", { role: "reviewer" });
  return { hub, coder, reviewer };
}

describe.each(Object.entries(SCHEMAS))("a payload type with %s", (_what, schema) => {
  it("accepts valid data unchanged [ENV-4]", async () => {
    const { hub, coder, reviewer } = await team("sqlite");
    await register(hub, schema);
    const payload = { type: "review", data: { files: ["a.ts", "b.ts"], risk: 0.5 } };
    await coder.handoff({ to: "reviewer", intent: "Review", payload });
    const { envelope } = await take<Review>(reviewer);
    expect(envelope.payload).toEqual({
      type: "review",
      data: { files: ["a.ts", "b.ts"], risk: 0.5 },
    });
  });

  it("refuses invalid data, naming every path, and stores nothing [ENV-4 ENV-5]", async () => {
    const { hub, coder } = await team("sqlite");
    await register(hub, schema);
    const before = await contents(hub);
    const data = { files: ["a.ts", 7], risk: 3 };
    const payload = { type: "review", data };
    const error = await refusal(coder.handoff({ to: "reviewer", intent: "Review", payload }));
    expect(error.code).toBe("invalid_payload");
    const paths = error.violations.map(({ path }) => path);
    expect(paths.toSorted()).toEqual(["payload.data.files[1]", "payload.data.risk"]);
    for (const { rule, message, path, hint } of error.violations) {
      expect(rule).toBeTruthy();
      expect(hint).toBeTruthy();
      expect(message).toContain(path);
    }
    expect(await contents(hub)).toEqual(before);
  });
});

describe("a payload", () => {
  it.each([["a string"], [["a", "list"]], [7], [null]])(
    "is refused when its data is %j and not an object [ENV-4]",
    async (data) => {
      const { coder } = await team();
      const draft = { to: "reviewer", intent: "Go", payload: { type: "note", data } };
      const error = await refusal(coder.handoff(draft as DraftOf<object>));
      expect(error).toMatchObject({ code: "invalid_envelope", path: "payload.data" });
    },
  );

  it("is accepted unchanged when its type is not registered [ENV-4]", async () => {
    const { coder, reviewer } = await team();
    const payload = { type: "note", data: { anything: [1, { goes: true }] } };
    await coder.handoff({ to: "reviewer", intent: "Go", payload });
    expect((await take(reviewer)).envelope.payload).toEqual(payload);
  });

  it("is validated when work is handed on, and a refusal leaves the work with its holder [ENV-4]", async () => {
    const { hub, coder, reviewer } = await team();
    await hub.payloadTypes.define("review", zodReview);
    const sent = await coder.handoff({ to: "reviewer", intent: "Go" });
    const work = await take(reviewer);
    const payload = { type: "review", data: { files: [] } };
    const error = await refusal(work.handoff({ to: "coder", payload }));
    expect(error.code).toBe("invalid_payload");
    expect((await sent.status()).state).toBe("accepted");
    expect(await work.complete()).toMatchObject({ kind: "settled" });
  });

  it("is accepted when its type was refused for an invalid schema [ENV-4]", async () => {
    const { hub, coder } = await team();
    const error = await refusal(hub.payloadTypes.set("broken", { type: "no such type" }));
    expect(error).toMatchObject({ code: "invalid_input", path: "schema.type" });
    const inProcess = await refusal(hub.payloadTypes.define("broken", { type: "object" } as never));
    expect(inProcess).toMatchObject({ code: "invalid_input", path: "schema" });
    expect(inProcess.hint).toContain("hub.payloadTypes.set");
    const payload = { type: "broken", data: {} };
    expect((await coder.handoff({ to: "reviewer", intent: "Go", payload })).kind).toBe("sent");
  });

  it("reaches its receiver as the schema's output, with defaults filled in [ENV-4]", async () => {
    const { hub, coder, reviewer } = await team();
    const schema = z.object({ name: z.string().trim(), tries: z.number().default(3) });
    const type = await hub.payloadTypes.define("job", schema);
    expectTypeOf(type).toEqualTypeOf<PayloadType<{ name: string; tries: number }>>();
    const payload = { type: "job", data: { name: " build " } };
    const sent = await coder.handoff({ to: "reviewer", intent: "Go", payload });
    const { envelope } = await take(reviewer);
    expect(envelope.payload?.data).toEqual({ name: "build", tries: 3 });
    expect(sha256(canonical(envelope))).toBe(sent.digest);
  });

  it("is refused when its schema turns it into something other than an object [ENV-4]", async () => {
    const { hub, coder } = await team();
    const name = z.object({ name: z.string() }).transform(({ name }) => name);
    await hub.payloadTypes.define("name", name);
    const payload = { type: "name", data: { name: "build" } };
    const error = await refusal(coder.handoff({ to: "reviewer", intent: "Go", payload }));
    expect(error).toMatchObject({ code: "invalid_envelope", path: "payload.data" });
  });
});

describe("the TypeScript type of a payload", () => {
  it("is inferred from the schema through handoff, inbox and work [ENV-4]", async () => {
    const { hub, coder, reviewer } = await team();
    const review = await hub.payloadTypes.define("review", zodReview);
    type Data = { files: string[]; risk: number };
    expectTypeOf(review).toEqualTypeOf<PayloadType<Data>>();
    expectTypeOf(review.of).parameter(0).toEqualTypeOf<Data>();

    const payload = review.of({ files: ["a.ts"], risk: 0 });
    const sent = await coder.handoff({ to: "reviewer", intent: "Go", payload });
    expectTypeOf(sent.envelope).toEqualTypeOf<EnvelopeOf<Data>>();

    for await (const offer of reviewer.inbox<Data>({ wait: false })) {
      expectTypeOf(offer.envelope).toEqualTypeOf<EnvelopeOf<Data>>();
      const work = await offer.accept();
      expectTypeOf(work.envelope.payload?.data).toEqualTypeOf<Data | undefined>();
      expect(work.envelope.payload?.data.files).toEqual(["a.ts"]);
      const onward = await work.handoff({ to: "coder", payload: { type: "n", data: { n: 1 } } });
      if (onward.kind !== "sent") throw new Error("the handoff was not sent as an extension");
      expectTypeOf(onward.envelope).toEqualTypeOf<EnvelopeOf<{ n: number }>>();
    }
    const back = await take<{ n: number }>(coder);
    expectTypeOf(back.envelope.payload?.data).toEqualTypeOf<{ n: number } | undefined>();
    expect(back.envelope.payload?.data.n).toBe(1);
  });

  it("is checked by the compiler in a draft", () => {
    expectTypeOf<{
      to: string;
      intent: string;
      payload: { type: string; data: Review };
    }>().toExtend<DraftOf<Review>>();
    expectTypeOf<{
      to: string;
      intent: string;
      payload: { type: string; data: { risk: string } };
    }>().not.toExtend<DraftOf<Review>>();
    expectTypeOf<{ to: string; payload: { type: string; data: Review } }>().not.toExtend<
      DraftOf<Review>
    >();
    expectTypeOf<{ to: string; intent: string; payload: undefined }>().toExtend<DraftOf<Review>>();
    expectTypeOf<{
      to: string;
      intent: string;
      payload: { type: string; data: string };
    }>().not.toExtend<DraftOf<object>>();
    expectTypeOf<StandardSchemaV1<unknown, Review>>().toExtend<StandardSchemaV1>();
  });
});

/** The HTTP embedder against a server that behaves, and one that misbehaves in every way. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type ErrorCode, isBatonError } from "../../../src/base/errors.ts";
import { httpEmbedder } from "../../../src/search/embedding/http-embedder.ts";
import type { HttpEmbedderOptions } from "../../../src/search/embedding/http-options.ts";

interface Asked {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly key: string | undefined;
  readonly model: string;
  readonly input: readonly string[];
}

type Answer = (response: ServerResponse, asked: Asked, n: number) => void;

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serverThat(answer: Answer): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const question = await questionIn(request);
    asked.push(question);
    answer(response, question, asked.length);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

async function questionIn(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Pick<Asked, "model" | "input">;
  const { method, url: path } = request;
  return { method, path, key: request.headers.authorization, ...body };
}

function send(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

/** A vector that says which text it belongs to: its length in the first dimension. */
const vector = (text: string): number[] => [text.length, 1, 0];
const answer = (texts: readonly string[]) => ({
  data: texts.map((text, index) => ({ index, embedding: vector(text) })),
});
const wellBehaved: Answer = (response, { input }) => send(response, answer(input));

const open = (url: string, options: Partial<HttpEmbedderOptions> = {}) =>
  httpEmbedder({ url, model: "test", dimensions: 3, backoffMs: 1, ...options });

/** The first dimension against the second, which is what `vector` put there. */
const lengthSaid = (v: Float32Array | undefined): number =>
  Math.round((v?.[0] ?? 0) / (v?.[1] ?? 1));

async function failure(promise: Promise<unknown>, code: ErrorCode) {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isBatonError(error)) throw new Error(`expected a BatonError, got ${inspect(error)}`);
  expect(error.code).toBe(code);
  return error;
}

describe("vectors from an embedding server", () => {
  it("are asked for in batches and come in order, of length one [MEM-8]", async () => {
    const { url, asked } = await serverThat(wellBehaved);
    const embedder = await open(url, { batch: 2, apiKey: "k-1" });
    const vectors = await embedder.embed(["a", "bb", "ccc", "dddd", "eeeee"]);
    expect(vectors.map(lengthSaid)).toEqual([1, 2, 3, 4, 5]);
    for (const v of vectors) expect(Math.hypot(...v)).toBeCloseTo(1, 6);
    expect(asked.map(({ input }) => input)).toEqual([["a", "bb"], ["ccc", "dddd"], ["eeeee"]]);
    expect(asked[0]).toMatchObject({
      method: "POST",
      path: "/v1/embeddings",
      key: "Bearer k-1",
      model: "test",
    });
  });

  it("have the dimensions the server shows when none are said [MEM-8]", async () => {
    const { url } = await serverThat(wellBehaved);
    const embedder = await httpEmbedder({ url: `${url}/embeddings/`, model: "nomic" });
    expect(embedder.dimensions).toBe(3);
    expect(embedder.model).toBe("http:nomic:3");
  });

  it("are put back in order when the server mixes them [MEM-8]", async () => {
    const { url } = await serverThat((response, { input }) =>
      send(response, { data: answer(input).data.reverse() }),
    );
    const vectors = await (await open(url)).embed(["a", "bb", "ccc"]);
    expect(vectors.map(lengthSaid)).toEqual([1, 2, 3]);
  });

  it("are taken in the order given when the server leaves the index out [MEM-8]", async () => {
    const { url } = await serverThat((response, { input }) =>
      send(response, { data: input.map((text) => ({ embedding: vector(text) })) }),
    );
    const vectors = await (await open(url)).embed(["a", "bb"]);
    expect(vectors.map(lengthSaid)).toEqual([1, 2]);
  });

  it("of a blank text are zero, and the server is not asked for them [MEM-8]", async () => {
    const { url, asked } = await serverThat(wellBehaved);
    const vectors = await (await open(url)).embed(["", "bb", " \n"]);
    expect(vectors.map((v) => Math.hypot(...v)).map(Math.round)).toEqual([0, 1, 0]);
    expect(asked.map(({ input }) => input)).toEqual([["bb"]]);
  });

  it("of huge numbers are still of length one [MEM-8]", async () => {
    const { url } = await serverThat((response) =>
      send(response, { data: [{ index: 0, embedding: [1e300, 0, 1e300] }] }),
    );
    const [v] = await (await open(url)).embed(["a"]);
    expect(v?.[0]).toBeCloseTo(Math.SQRT1_2, 6);
  });

  it("of a text that is too long are an error that names the text, not a cut [MEM-8]", async () => {
    const { url, asked } = await serverThat(wellBehaved);
    const embedder = await open(url, { textLength: 5 });
    const error = await failure(embedder.embed(["short", "longer"]), "limit_exceeded");
    expect(error.path).toBe("texts[1]");
    expect(error.details).toMatchObject({ max: 5, actual: 6 });
    expect(asked).toEqual([]);
  });
});

describe("an embedding server in trouble", () => {
  it.each([408, 425, 429, 500, 502, 503])(
    "that answers %i at first is asked again [MEM-8]",
    async (status) => {
      const { url, asked } = await serverThat((response, { input }, n) =>
        n < 3 ? send(response, "busy", status) : send(response, answer(input)),
      );
      const vectors = await (await open(url)).embed(["a"]);
      expect(vectors.map(lengthSaid)).toEqual([1]);
      expect(asked).toHaveLength(3);
    },
  );

  it("that stays in trouble is reported as such, retryable, with what it said [MEM-8]", async () => {
    const { url, asked } = await serverThat((response) => send(response, "model loading", 503));
    const error = await failure(
      (await open(url, { retries: 2 })).embed(["a"]),
      "embedder_unavailable",
    );
    expect(error.retryable).toBe(true);
    expect(error.message).toContain("503: model loading");
    expect(asked).toHaveLength(3);
  });

  it("that hangs up in the middle is asked again [MEM-8]", async () => {
    const { url, asked } = await serverThat((response, { input }, n) => {
      if (n === 1) response.socket?.destroy();
      else if (n === 2) {
        response.writeHead(200, { "content-length": "1000" });
        response.write('{"data":', () => response.socket?.destroy());
      } else send(response, answer(input));
    });
    await (await open(url)).embed(["a"]);
    expect(asked).toHaveLength(3);
  });

  it("that never answers counts as lost after the timeout [MEM-8]", async () => {
    // Each timeout is over once its question has arrived: in real time it may be over before.
    const timeouts: AbortController[] = [];
    const real = AbortSignal.timeout;
    const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
      if (ms !== 5_000) return real(ms);
      const controller = new AbortController();
      timeouts.push(controller);
      return controller.signal;
    });
    onTestFinished(() => timeout.mockRestore());
    const { url, asked } = await serverThat(() => timeouts.at(-1)?.abort());
    const embedder = await open(url, { timeoutMs: 5_000, retries: 1 });
    const error = await failure(embedder.embed(["a"]), "embedder_unavailable");
    expect(error.message).toContain("no response within 5000 ms");
    expect(asked).toHaveLength(2);
    expect(timeout.mock.calls).toEqual([[5_000], [5_000]]);
  });

  it("that stops in the middle of its answer counts as lost too [MEM-8]", async () => {
    const { url } = await serverThat((response) => {
      response.writeHead(200);
      response.write('{"data":');
    });
    const embedder = await open(url, { timeoutMs: 50, retries: 0 });
    await failure(embedder.embed(["a"]), "embedder_unavailable");
  });

  it("that is not there is named [MEM-8]", async () => {
    // The server keeps its port, so that no other process listens on it, at this address either.
    const { url } = await serverThat(wellBehaved);
    const other = url.replace("127.0.0.1", "127.0.0.2");
    const error = await failure(
      open(other, { retries: 0 }).then((e) => e.embed(["a"])),
      "embedder_unavailable",
    );
    expect(error.message).toContain("ECONNREFUSED");
    expect(error.message).toContain(new URL(other).origin);
  });

  it("is left alone when the caller has given up [MEM-8]", async () => {
    const controller = new AbortController();
    const { url, asked } = await serverThat(() => controller.abort(new Error("enough")));
    const embedder = await open(url, { retries: 5 });
    await expect(embedder.embed(["a"], controller.signal)).rejects.toThrow("enough");
    expect(asked).toHaveLength(1);
  });
});

describe("an embedding server that refuses", () => {
  it.each([
    [400, "Check the name of the model"],
    [401, "apiKey"],
    [403, "apiKey"],
    [404, 'has the model "test"'],
    [413, "batch"],
    [422, "length of the texts"],
  ])("with %i is asked once and quoted, with what to do [MEM-8]", async (status, hint) => {
    const { url, asked } = await serverThat((response) =>
      send(response, { error: { message: "no such thing" } }, status),
    );
    const error = await failure((await open(url)).embed(["a"]), "embedder_invalid");
    expect(error.retryable).toBe(false);
    expect(error.message).toContain("no such thing");
    expect(error.hint).toContain(hint);
    expect(asked).toHaveLength(1);
  });

  it("by sending elsewhere is not followed: texts go to the address that was named [MEM-8]", async () => {
    const other = await serverThat(wellBehaved);
    const { url } = await serverThat((response) => {
      response.writeHead(307, { location: `${other.url}/embeddings` });
      response.end();
    });
    const error = await failure((await open(url)).embed(["a"]), "embedder_invalid");
    expect(error.hint).toContain("redirects");
    expect(other.asked).toEqual([]);
  });

  it("and repeats the key does not get it into the error [MEM-8]", async () => {
    const apiKey = "sk-very-secret-0123456789";
    for (const status of [401, 503]) {
      const { url } = await serverThat((response, { key }) =>
        send(response, `bad key: ${key}`, status),
      );
      const embedder = await open(url, { apiKey, retries: 0 });
      const error = await embedder.embed(["a"]).catch((thrown: unknown) => thrown);
      expect(String(error)).toContain("bad key");
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(apiKey);
    }
  });

  it("with a page of text is quoted in part [MEM-8]", async () => {
    const { url } = await serverThat((response) => send(response, "x".repeat(100_000), 400));
    const error = await failure((await open(url)).embed(["a"]), "embedder_invalid");
    expect(error.message.length).toBeLessThan(600);
  });
});

describe("an answer that cannot be used", () => {
  const bad: Readonly<Record<string, unknown>> = {
    "is not valid JSON": "<html>",
    "is null": null,
    "is something else": { embeddings: [[1, 2, 3]] },
    "has too few vectors": { data: [{ index: 0, embedding: [1, 2, 3] }] },
    "has too many vectors": { data: [0, 1, 2].map((index) => ({ index, embedding: [1, 2, 3] })) },
    "has an index twice": { data: [0, 0].map((index) => ({ index, embedding: [1, 2, 3] })) },
    "has an index outside": { data: [0, 2].map((index) => ({ index, embedding: [1, 2, 3] })) },
    "has an index that is none": {
      data: [0, "1"].map((index) => ({ index, embedding: [1, 2, 3] })),
    },
    "has other dimensions": { data: [0, 1].map((index) => ({ index, embedding: [1, 2] })) },
    "has dimensions that vary": {
      data: [0, 1].map((index) => ({ index, embedding: index === 0 ? [1, 2, 3] : [1, 2, 3, 4] })),
    },
    "has words for numbers": { data: [0, 1].map((index) => ({ index, embedding: [1, "2", 3] })) },
    "has nothing for numbers": {
      data: [0, 1].map((index) => ({ index, embedding: [1, null, 3] })),
    },
    "has base64 for numbers": { data: [0, 1].map((index) => ({ index, embedding: "AACAPwAA" })) },
    "has an empty vector": { data: [0, 1].map((index) => ({ index, embedding: [] })) },
    "has nothing but zeros": { data: [0, 1].map((index) => ({ index, embedding: [0, 0, 0] })) },
    "has no entries": { data: [null, null] },
  };

  it.each(Object.entries(bad))("because it %s is an error [MEM-8]", async (_, body) => {
    const { url, asked } = await serverThat((response) => send(response, body));
    const error = await failure((await open(url)).embed(["a", "b"]), "embedder_invalid");
    expect(error.retryable).toBe(false);
    expect(asked).toHaveLength(1);
  });
});

describe("an embedder that is told nonsense", () => {
  const wrong: readonly (readonly [Partial<Record<keyof HttpEmbedderOptions, unknown>>, string])[] =
    [
      [{ url: "localhost" }, "embedder.url"],
      [{ url: "file:///etc/passwd" }, "embedder.url"],
      [{ url: undefined }, "embedder.url"],
      [{ url: "http://me:secret-word@localhost/v1" }, "embedder.url"],
      [{ model: "" }, "embedder.model"],
      [{ apiKey: "secret-word\n" }, "embedder.apiKey"],
      [{ batch: 0 }, "embedder.batch"],
      [{ retries: -1 }, "embedder.retries"],
      [{ timeoutMs: 2 ** 31 }, "embedder.timeoutMs"],
      [{ textLength: 1.5 }, "embedder.textLength"],
      [{ dimensions: 0 }, "embedder.dimensions"],
    ];

  it.each(wrong)("as in %j says where [MEM-8]", async (options, path) => {
    const given = {
      url: "http://localhost:1/v1",
      model: "test",
      ...options,
    } as HttpEmbedderOptions;
    const error = await failure(httpEmbedder(given), "invalid_input");
    expect(error.path).toBe(path);
    expect(inspect(error)).not.toContain("secret-word");
  });
});

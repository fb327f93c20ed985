/** Tests the HTTP embedder with servers that work, fail, refuse or return unusable responses. */
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

/** Returns a vector that identifies its text: the first dimension is the length of the text. */
const vector = (text: string): number[] => [text.length, 1, 0];
const answer = (texts: readonly string[]) => ({
  data: texts.map((text, index) => ({ index, embedding: vector(text) })),
});
const wellBehaved: Answer = (response, { input }) => send(response, answer(input));

const open = (url: string, options: Partial<HttpEmbedderOptions> = {}) =>
  httpEmbedder({ url, model: "test", dimensions: 3, backoffMs: 1, ...options });

/** Returns the length that `vector` encoded: the first dimension divided by the second. */
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
  it("are requested in batches, and returned in order with length 1 [MEM-8]", async () => {
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

  it("have the dimensions of the server's response by default [MEM-8]", async () => {
    const { url } = await serverThat(wellBehaved);
    const embedder = await httpEmbedder({ url: `${url}/embeddings/`, model: "nomic" });
    expect(embedder.dimensions).toBe(3);
    expect(embedder.model).toBe("http:nomic:3");
  });

  it("are reordered when the server returns them out of order [MEM-8]", async () => {
    const { url } = await serverThat((response, { input }) =>
      send(response, { data: answer(input).data.reverse() }),
    );
    const vectors = await (await open(url)).embed(["a", "bb", "ccc"]);
    expect(vectors.map(lengthSaid)).toEqual([1, 2, 3]);
  });

  it("keep the order of the response when it omits the index [MEM-8]", async () => {
    const { url } = await serverThat((response, { input }) =>
      send(response, { data: input.map((text) => ({ embedding: vector(text) })) }),
    );
    const vectors = await (await open(url)).embed(["a", "bb"]);
    expect(vectors.map(lengthSaid)).toEqual([1, 2]);
  });

  it("are zero for a blank text, which is not sent [MEM-8]", async () => {
    const { url, asked } = await serverThat(wellBehaved);
    const vectors = await (await open(url)).embed(["", "bb", " \n"]);
    expect(vectors.map((v) => Math.hypot(...v)).map(Math.round)).toEqual([0, 1, 0]);
    expect(asked.map(({ input }) => input)).toEqual([["bb"]]);
  });

  it("have length 1 even for huge values [MEM-8]", async () => {
    const { url } = await serverThat((response) =>
      send(response, { data: [{ index: 0, embedding: [1e300, 0, 1e300] }] }),
    );
    const [v] = await (await open(url)).embed(["a"]);
    expect(v?.[0]).toBeCloseTo(Math.SQRT1_2, 6);
  });

  it("are refused for a text that is too long, which is named, not cut [MEM-8]", async () => {
    const { url, asked } = await serverThat(wellBehaved);
    const embedder = await open(url, { textLength: 5 });
    const error = await failure(embedder.embed(["short", "longer"]), "limit_exceeded");
    expect(error.path).toBe("texts[1]");
    expect(error.details).toMatchObject({ max: 5, actual: 6 });
    expect(asked).toEqual([]);
  });
});

describe("a failing embedding server", () => {
  it.each([408, 425, 429, 500, 502, 503])("is retried after status %i [MEM-8]", async (status) => {
    const { url, asked } = await serverThat((response, { input }, n) =>
      n < 3 ? send(response, "busy", status) : send(response, answer(input)),
    );
    const vectors = await (await open(url)).embed(["a"]);
    expect(vectors.map(lengthSaid)).toEqual([1]);
    expect(asked).toHaveLength(3);
  });

  it("is reported as unavailable and retryable, with its response [MEM-8]", async () => {
    const { url, asked } = await serverThat((response) => send(response, "model loading", 503));
    const error = await failure(
      (await open(url, { retries: 2 })).embed(["a"]),
      "embedder_unavailable",
    );
    expect(error.retryable).toBe(true);
    expect(error.message).toContain("503: model loading");
    expect(asked).toHaveLength(3);
  });

  it("is retried when it closes the connection early [MEM-8]", async () => {
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

  it("counts as unavailable when it does not respond within the timeout [MEM-8]", async () => {
    // Each timeout fires once its request has arrived; a real timer might fire earlier.
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

  it("counts as unavailable when its response stalls [MEM-8]", async () => {
    const { url } = await serverThat((response) => {
      response.writeHead(200);
      response.write('{"data":');
    });
    const embedder = await open(url, { timeoutMs: 50, retries: 0 });
    await failure(embedder.embed(["a"]), "embedder_unavailable");
  });

  it("is named in the error when the connection is refused [MEM-8]", async () => {
    // The server holds the port, so no other process listens on it, not even at 127.0.0.2.
    const { url } = await serverThat(wellBehaved);
    const other = url.replace("127.0.0.1", "127.0.0.2");
    const error = await failure(
      open(other, { retries: 0 }).then((e) => e.embed(["a"])),
      "embedder_unavailable",
    );
    expect(error.message).toContain("ECONNREFUSED");
    expect(error.message).toContain(new URL(other).origin);
  });

  it("is not retried after the caller aborts [MEM-8]", async () => {
    const controller = new AbortController();
    const { url, asked } = await serverThat(() => controller.abort(new Error("enough")));
    const embedder = await open(url, { retries: 5 });
    await expect(embedder.embed(["a"], controller.signal)).rejects.toThrow("enough");
    expect(asked).toHaveLength(1);
  });
});

describe("an embedding server that refuses a request", () => {
  it.each([
    [400, "Check the name of the model"],
    [401, "apiKey"],
    [403, "apiKey"],
    [404, 'has the model "test"'],
    [413, "batch"],
    [422, "length of the texts"],
  ])("is not retried on status %i, and is quoted with a hint [MEM-8]", async (status, hint) => {
    const { url, asked } = await serverThat((response) =>
      send(response, { error: { message: "no such thing" } }, status),
    );
    const error = await failure((await open(url)).embed(["a"]), "embedder_invalid");
    expect(error.retryable).toBe(false);
    expect(error.message).toContain("no such thing");
    expect(error.hint).toContain(hint);
    expect(asked).toHaveLength(1);
  });

  it("is not followed when it redirects to another address [MEM-8]", async () => {
    const other = await serverThat(wellBehaved);
    const { url } = await serverThat((response) => {
      response.writeHead(307, { location: `${other.url}/embeddings` });
      response.end();
    });
    const error = await failure((await open(url)).embed(["a"]), "embedder_invalid");
    expect(error.hint).toContain("redirects");
    expect(other.asked).toEqual([]);
  });

  it("does not leak the API key into the error [MEM-8]", async () => {
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

  it("is quoted only in part when its response is long [MEM-8]", async () => {
    const { url } = await serverThat((response) => send(response, "x".repeat(100_000), 400));
    const error = await failure((await open(url)).embed(["a"]), "embedder_invalid");
    expect(error.message.length).toBeLessThan(600);
  });
});

describe("an unusable response", () => {
  const bad: Readonly<Record<string, unknown>> = {
    "is not valid JSON": "<html>",
    "is null": null,
    "has another structure": { embeddings: [[1, 2, 3]] },
    "has too few vectors": { data: [{ index: 0, embedding: [1, 2, 3] }] },
    "has too many vectors": { data: [0, 1, 2].map((index) => ({ index, embedding: [1, 2, 3] })) },
    "repeats an index": { data: [0, 0].map((index) => ({ index, embedding: [1, 2, 3] })) },
    "has an index out of range": { data: [0, 2].map((index) => ({ index, embedding: [1, 2, 3] })) },
    "has an index that is not a number": {
      data: [0, "1"].map((index) => ({ index, embedding: [1, 2, 3] })),
    },
    "has the wrong dimensions": { data: [0, 1].map((index) => ({ index, embedding: [1, 2] })) },
    "mixes dimensions": {
      data: [0, 1].map((index) => ({ index, embedding: index === 0 ? [1, 2, 3] : [1, 2, 3, 4] })),
    },
    "has strings for numbers": { data: [0, 1].map((index) => ({ index, embedding: [1, "2", 3] })) },
    "has null for numbers": {
      data: [0, 1].map((index) => ({ index, embedding: [1, null, 3] })),
    },
    "has base64 for numbers": { data: [0, 1].map((index) => ({ index, embedding: "AACAPwAA" })) },
    "has an empty vector": { data: [0, 1].map((index) => ({ index, embedding: [] })) },
    "has only zeros": { data: [0, 1].map((index) => ({ index, embedding: [0, 0, 0] })) },
    "has null entries": { data: [null, null] },
  };

  it.each(Object.entries(bad))("is refused when it %s [MEM-8]", async (_, body) => {
    const { url, asked } = await serverThat((response) => send(response, body));
    const error = await failure((await open(url)).embed(["a", "b"]), "embedder_invalid");
    expect(error.retryable).toBe(false);
    expect(asked).toHaveLength(1);
  });
});

describe("an embedder with invalid options", () => {
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

  it.each(wrong)("is refused with the path of the option: %j [MEM-8]", async (options, path) => {
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

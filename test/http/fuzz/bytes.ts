/**
 * Bytes for a socket that are not a valid request: malformed, truncated, contradictory or random.
 */
import { connect } from "node:net";
import type { Random } from "../../support/random.ts";

export interface Raw {
  readonly kind: string;
  readonly bytes: Buffer;
  /** True if the sender disconnects without waiting for an answer. */
  readonly leaves: boolean;
  /** True if the bytes may form a valid request by chance. */
  readonly mayBeGood: boolean;
}

const MAY_BE_GOOD = ["a broken letter", "no UTF-8"];

const GOOD = '{"memories":[{"content":"It must not be stored."}]}';

const head = (lines: readonly string[], body: string | Buffer = ""): Buffer =>
  Buffer.concat([
    Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"),
    typeof body === "string" ? Buffer.from(body) : body,
  ]);

const remember = (more: readonly string[], body: string | Buffer): Buffer =>
  head(
    [
      "POST /v1/memories HTTP/1.1",
      "host: 127.0.0.1",
      "baton-agent: ada",
      "content-type: application/json",
      ...more,
    ],
    body,
  );

const CHANGE = '{"releasers":["whoever-hung-up"]}';

const change = (more: readonly string[], body: string): Buffer =>
  head(
    ["PATCH /v1/settings HTTP/1.1", "host: 127.0.0.1", "content-type: application/json", ...more],
    body,
  );

const noise = (random: Random, length: number): Buffer =>
  Buffer.from(Array.from({ length }, () => random.below(256)));

const KINDS: Readonly<Record<string, (random: Random) => Buffer>> = {
  "random bytes": (random) => noise(random, 1 + random.below(2_000)),
  "random after a good line": (random) =>
    Buffer.concat([Buffer.from("GET /v1/totals HTTP/1.1\r\n"), noise(random, random.below(500))]),
  "a broken letter": (random) => {
    const bytes = remember([`content-length: ${GOOD.length}`], GOOD);
    bytes[random.below(bytes.length)] = random.below(256);
    return bytes;
  },
  "broken JSON": (random) => {
    const body = GOOD.slice(0, 1 + random.below(GOOD.length - 1));
    return remember([`content-length: ${body.length}`], body);
  },
  "no UTF-8": (random) => {
    const body = Buffer.from(`{"memories":[{"content":"??"}]}`);
    body[25] = 0xc3;
    body[26] = random.pick([0x28, 0xff, 0xfe, 0x00]);
    return remember([`content-length: ${body.length}`], body.subarray(0, -2));
  },
  "shorter than said": () => remember([`content-length: ${GOOD.length + 10}`], GOOD),
  "a change that is cut off": (random) =>
    random.chance(0.5)
      ? change([`content-length: ${CHANGE.length + 10}`], CHANGE)
      : change(["transfer-encoding: chunked"], `${CHANGE.length.toString(16)}\r\n${CHANGE}\r\n`),
  "longer than said": () => remember([`content-length: ${GOOD.length - 5}`], GOOD),
  "a length of nothing": (random) =>
    remember(
      [`content-length: ${random.pick(["-1", "NaN", "1e3", "0x10", " ", "99999999999999"])}`],
      GOOD,
    ),
  "two lengths": () => remember(["content-length: 3", `content-length: ${GOOD.length}`], GOOD),
  "a length and chunks": () =>
    remember(
      [`content-length: ${GOOD.length}`, "transfer-encoding: chunked"],
      `5\r\nhello\r\n0\r\n\r\n`,
    ),
  "bad chunks": (random) =>
    remember(
      ["transfer-encoding: chunked"],
      random.pick([
        "zz\r\nhello\r\n0\r\n\r\n",
        "5\r\nhel\r\n0\r\n\r\n",
        "-5\r\nhello\r\n",
        "FFFFFFFFFFFFFFFFF\r\n",
      ]),
    ),
  "chunks that never end": () => remember(["transfer-encoding: chunked"], "2\r\n{}\r\n"),
  "another encoding": () => remember(["transfer-encoding: gzip", "content-length: 2"], "{}"),
  "bad headers": (random) =>
    head([
      "GET /v1/totals HTTP/1.1",
      random.pick(["host: 127.0.0.1", "host 127.0.0.1", "host: a\0b", "\x00\x01: x", ": empty"]),
      random.pick([
        " folded: yes",
        "x: \x7f\x80\xff",
        "baton-agent: \xe4\xf6",
        "no colon",
        "a b: c",
      ]),
    ]),
  "no host": () => head(["GET /v1/totals HTTP/1.1"]),
  "two hosts": () => head(["GET /v1/totals HTTP/1.1", "host: 127.0.0.1", "host: evil.example"]),
  "too many headers": () =>
    head([
      "GET /v1/totals HTTP/1.1",
      "host: 127.0.0.1",
      ...Array.from({ length: 3_000 }, (_, i) => `x-${i}: 1`),
    ]),
  "a long address": () => head([`GET /${"a".repeat(40_000)} HTTP/1.1`, "host: 127.0.0.1"]),
  "an odd first line": (random) =>
    head([
      random.pick([
        "GET http://evil.example/v1/totals HTTP/1.1",
        "GET * HTTP/1.1",
        "CONNECT evil.example:443 HTTP/1.1",
        "GET /v1/totals HTTP/9.9",
        "get /v1/totals http/1.1",
        "GET  /v1/totals  HTTP/1.1",
        "TRACE / HTTP/1.1",
        "PRI * HTTP/2.0",
        "GET //evil.example/ HTTP/1.1",
        "GET /%zz HTTP/1.1",
        "GET /v1/../../healthz HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "GET /\\\\..\\\\x HTTP/1.1",
        "GET ? HTTP/1.1",
      ]),
      "host: 127.0.0.1",
    ]),
  "wants to be another protocol": () =>
    head([
      "GET /v1/totals HTTP/1.1",
      "host: 127.0.0.1",
      "connection: upgrade",
      "upgrade: websocket",
      "sec-websocket-key: AAAA",
    ]),
  "many at once": () =>
    Buffer.concat(
      Array.from({ length: 20 }, () => head(["GET /v1/totals HTTP/1.1", "host: 127.0.0.1"])),
    ),
  "TLS on a plain port": () => Buffer.from("16030100a5010000a10303", "hex"),
};

export function rawRequest(random: Random): Raw {
  const kinds = Object.keys(KINDS);
  const kind = kinds[random.below(kinds.length)] as string;
  const bytes = (KINDS[kind] as (random: Random) => Buffer)(random);
  return { kind, bytes, leaves: random.chance(0.5), mayBeGood: MAY_BE_GOOD.includes(kind) };
}

/** How long a sender waits for an answer before it disconnects. */
const STAY_MS = 20;

/**
 * Sends the bytes and returns the statuses that came back; none if the hub or the sender
 * disconnected before an answer. A sender that leaves disconnects at once; any other waits for a
 * moment first.
 */
export function sendRaw(port: number, { bytes, leaves }: Raw): Promise<number[]> {
  return new Promise((resolve) => {
    let said = "";
    let leaving: NodeJS.Timeout | undefined;
    const socket = connect({ port, host: "127.0.0.1" }, () => {
      socket.write(bytes);
      if (leaves) socket.destroySoon();
      else leaving = setTimeout(() => socket.destroy(), STAY_MS);
    });
    socket.setEncoding("latin1").on("data", (piece: string) => {
      said += piece;
    });
    socket.on("error", () => {}); // The hub may reset the connection.
    socket.once("close", () => {
      clearTimeout(leaving);
      const statuses = [...said.matchAll(/^HTTP\/1\.1 (\d{3})/gm)];
      resolve(statuses.map(([, status]) => Number(status)));
    });
  });
}

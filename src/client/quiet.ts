/**
 * A request that is no reason for the process to go on: whoever only listens, or asks for more time, does so
 * while something else is going on. fetch holds on to its socket until the answer is there; here it is let go.
 */
import { request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { text } from "node:stream/consumers";

export interface Quiet {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

export function fetchQuietly(url: string, { body, ...how }: Quiet): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const request = url.startsWith("https:") ? requestSecure : requestPlain;
  const asked = request(url, how, (answer) => {
    const { statusCode: status = 0, headers } = answer;
    const told = { status, headers: headers as Record<string, string> };
    text(answer).then((said) => resolve(new Response(said || null, told)), reject);
  });
  asked.on("socket", (socket) => socket.unref());
  asked.on("error", reject);
  asked.end(body);
  return promise;
}

/**
 * GET requests that do not keep the process running, for background listening. fetch keeps its socket
 * referenced until the response arrives; here the socket is unreferenced.
 */
import { get as getPlain } from "node:http";
import { get as getSecure } from "node:https";
import { text } from "node:stream/consumers";

interface BackgroundFetchOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Sends a GET request and returns the response. */
export function fetchInBackground(url: string, how: BackgroundFetchOptions): Promise<Response> {
  const get = url.startsWith("https:") ? getSecure : getPlain;
  return new Promise((resolve, reject) => {
    const asked = get(url, how, (answer) => {
      const { statusCode: status = 0, headers } = answer;
      const init = { status, headers: headers as Record<string, string> };
      text(answer)
        .then((said) => resolve(new Response(said || null, init)))
        .catch(reject);
    });
    asked.on("socket", (socket) => socket.unref());
    asked.on("error", reject);
  });
}

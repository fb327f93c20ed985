/**
 * Asking without keeping the process: whoever only listens does so while something else is going on. fetch
 * holds on to its socket until the answer is there; here it is let go.
 */
import { get as getPlain } from "node:http";
import { get as getSecure } from "node:https";
import { text } from "node:stream/consumers";

interface BackgroundFetchOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export function fetchInBackground(url: string, how: BackgroundFetchOptions): Promise<Response> {
  const get = url.startsWith("https:") ? getSecure : getPlain;
  return new Promise((resolve, reject) => {
    const asked = get(url, how, (answer) => {
      const { statusCode: status = 0, headers } = answer;
      const told = { status, headers: headers as Record<string, string> };
      text(answer)
        .then((said) => resolve(new Response(said || null, told)))
        .catch(reject);
    });
    asked.on("socket", (socket) => socket.unref());
    asked.on("error", reject);
  });
}

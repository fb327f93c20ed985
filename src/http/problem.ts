/** Errors as HTTP tells them: RFC 9457 with what every door says of an error besides. */
import { BatonError, ERROR_CODES, isBatonError } from "../base/errors.ts";
import type { Reply } from "./idempotency-cache.ts";

const TYPE = "application/problem+json";

/** How long to wait before trying again what may succeed later, in seconds. */
const RETRY_AFTER_S = 1;

export function problemOf(error: BatonError): object {
  return {
    type: `/reference#${error.code}`,
    title: ERROR_CODES[error.code].meaning,
    status: ERROR_CODES[error.code].http,
    detail: error.message,
    ...error.toJSON(),
  };
}

export function problemReply(error: BatonError): Reply {
  const { http: status } = ERROR_CODES[error.code];
  const headers: Record<string, string> = { "content-type": TYPE };
  if (status === 401) headers["www-authenticate"] = 'Bearer realm="baton"';
  if (error.retryable) headers["retry-after"] = String(retryAfter(error));
  return { status, headers, body: JSON.stringify(problemOf(error)) };
}

const retryAfter = ({ details }: BatonError): number =>
  typeof details["retryAfterS"] === "number" ? details["retryAfterS"] : RETRY_AFTER_S;

/** What was thrown, as an error for the caller. A bug says nothing of itself to strangers. */
export function callerErrorOf(error: unknown, report: (bug: unknown) => void): BatonError {
  if (isBatonError(error)) return error;
  report(error);
  return new BatonError("internal", {
    message: "The hub made a mistake; it was written to its log.",
    hint: "Tell whoever runs the hub, with the time of the call.",
  });
}

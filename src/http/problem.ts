/** Turns errors into HTTP responses: RFC 9457 problem details with the fields of a BatonError. */
import { BatonError, ERROR_CODES, isBatonError } from "../base/errors.ts";
import { HEADERS } from "../operations/wire/headers.ts";
import { withRoutes } from "../operations/wire/hint-words.ts";
import type { Reply } from "./idempotency-cache.ts";

const TYPE = "application/problem+json";

/** Default of the retry-after header for retryable errors, in seconds. */
const RETRY_AFTER_S = 1;

/**
 * Returns the problem details of an error. Hints name routes, or SDK methods if the SDK's client sent the
 * request.
 */
export function problemOf(error: BatonError, request: Request): object {
  return {
    type: `/reference#${error.code}`,
    title: ERROR_CODES[error.code].meaning,
    status: ERROR_CODES[error.code].http,
    detail: error.message,
    ...error.toJSON(),
    ...(request.headers.has(HEADERS.client) ? {} : hintsWithRoutes(error)),
  };
}

const hintsWithRoutes = ({ hint, violations }: BatonError): object => ({
  hint: withRoutes(hint),
  violations: violations.map((each) => ({ ...each, hint: withRoutes(each.hint) })),
});

/** Returns the response for an error, with status and headers. */
export function problemReply(error: BatonError, request: Request): Reply {
  const { http: status } = ERROR_CODES[error.code];
  const headers: Record<string, string> = { "content-type": TYPE };
  if (status === 401) headers["www-authenticate"] = 'Bearer realm="baton"';
  if (error.retryable) headers["retry-after"] = String(retryAfter(error));
  return { status, headers, body: JSON.stringify(problemOf(error, request)) };
}

const retryAfter = ({ details }: BatonError): number =>
  typeof details["retryAfterS"] === "number" ? details["retryAfterS"] : RETRY_AFTER_S;

/** Returns a BatonError for anything thrown. A bug is reported, and the caller gets no details of it. */
export function callerErrorOf(error: unknown, report: (bug: unknown) => void): BatonError {
  if (isBatonError(error)) return error;
  report(error);
  return new BatonError("internal", {
    message: "Internal error; the details are in the hub's log.",
    hint: "Report the time of the call to the operator of the hub.",
  });
}

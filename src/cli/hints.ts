/** What to do about an error of the library, as somebody at a command line would do it. */
import type { BatonError, ErrorCode } from "../errors.ts";
import { localTime } from "./terminal.ts";

type Details = Readonly<Record<string, unknown>>;

/** Undefined where the library's own hint says it well. */
const HINTS: Partial<Record<ErrorCode, (details: Details) => string | undefined>> = {
  already_known: ({ known }) => {
    const id = Array.isArray(known) ? known[0]?.id : undefined;
    return `Say --continues ${id} (or --supersedes, --corrects), or write it anyway: --force`;
  },
  circuit_open: ({ receiver, passesAt }) =>
    `Try again after ${localTime(Number(passesAt))}, name a --fallback, or: baton breaker reset ${receiver}`,
  channel_closed: ({ channel }) => `Open it: baton channel open ${channel}`,
  channel_paused: ({ channel }) => `Open it: baton channel open ${channel}`,
  unknown_channel: ({ channel, near }) => {
    if (near === undefined) {
      return `Subscribe first (baton channel subscribe ${channel} --as <agent>), or name a --receiver.`;
    }
    return isNone(near) ? `Make it first: baton channel open ${channel}` : undefined;
  },
  unknown_agent: ({ name, near }) =>
    isNone(near) ? `Register it first: baton agent add ${name} --role <role>` : undefined,
  unknown_role: ({ role, near }) =>
    isNone(near) ? `Register somebody for it: baton agent add <name> --role ${role}` : undefined,
  no_route: ({ action }) =>
    `Say --to <receiver>, or set a route: baton route set <name> --action ${action} --to <receiver>`,
  receipt_required: ({ constraints }) =>
    [
      "Accept it with --receipt-goal <text> --receipt-first-step <text>",
      ...(Array.isArray(constraints) ? constraints.map((id) => `--receipt-constraint ${id}`) : []),
    ].join(" "),
  invalid_result: () =>
    "Hand in outputs with --output <name>=<value>; confirm criteria with --met <criterion>.",
  not_open: ({ delivery, envelope }) =>
    envelope === undefined
      ? `Where it stands: baton handoff show ${delivery}`
      : `Read it (baton handoff show ${delivery}), then do it again with --seen ${envelope}`,
  lease_lost: () => "Stop working on it; notes are kept. See baton inbox for what is next.",
  cancelled: () => "Stop working on it; notes are kept. See baton inbox for what is next.",
};

const isNone = (near: unknown): boolean => Array.isArray(near) && near.length === 0;

export function hintFor({ code, details }: BatonError): string | undefined {
  return HINTS[code]?.(details);
}

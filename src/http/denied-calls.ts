/**
 * Records denied calls: who was refused what. A caller that did not authenticate is recorded by the class of its
 * address and never by the text of its token, and its calls count as one kind, so that it cannot choose how
 * much is recorded.
 */
import { BlockList, isIPv6 } from "node:net";
import { isBatonError } from "../base/errors.ts";
import { idPattern } from "../base/ids.ts";
import type { LocalHub } from "../hub/hub.ts";
import { type Actor, runAs } from "../workspace/actor.ts";
import { reportUnfinished } from "../workspace/follow-up.ts";
import type { Caller } from "./caller.ts";
import type { SessionCache } from "./session-cache.ts";

/** The codes of denied calls. */
const DENIED: ReadonlySet<string> = new Set([
  ...["unauthenticated", "forbidden", "rate_limited", "not_permitted"],
]);

/** A call that failed. */
export interface FailedCall {
  readonly operation: string;
  readonly request: Request;
  /** Undefined if it did not authenticate. */
  readonly caller: Caller | undefined;
}

/** Returns the caller as audit records name it. */
export const actorOf = ({ id, access, agent }: Caller): Actor => ({
  via: "http",
  token: id,
  access,
  ...(agent === undefined ? {} : { agent }),
});

const issued = idPattern("token");

/** Records the denied calls of a hub's HTTP interface. */
export class DeniedCalls {
  readonly #sessions: SessionCache;
  readonly #hub: LocalHub;
  readonly #addresses = new WeakMap<Request, () => string | undefined>();

  constructor(sessions: SessionCache, hub: LocalHub) {
    this.#sessions = sessions;
    this.#hub = hub;
  }

  /** Notes where a request comes from. */
  from(request: Request, address: () => string | undefined): void {
    this.#addresses.set(request, address);
  }

  /** Records the call if it was denied, in the background. */
  record(error: unknown, { operation, request, caller }: FailedCall): void {
    if (!isBatonError(error) || !DENIED.has(error.code)) return;
    const address = addressClass(this.#addresses.get(request)?.());
    const actor: Actor = caller === undefined ? { via: "http", address } : actorOf(caller);
    const action = caller === undefined ? "*" : operation;
    // The workspace of a caller without an issued token is its own choice.
    const hub =
      caller !== undefined && issued.test(caller.id)
        ? this.#sessions.hubOf(caller.workspace)
        : this.#hub;
    const call = { kind: "denied", action, actor, code: error.code } as const;
    // Its timer must not keep the caller's context.
    runAs({ via: "hub" }, () => hub.recordCall(call)).catch((failure: unknown) =>
      reportUnfinished("audit record of a denied call", failure),
    );
  }
}

const PRIVATE = new BlockList();
for (const [net, bits] of [
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["169.254.0.0", 16],
] as const)
  PRIVATE.addSubnet(net, bits);
for (const [net, bits] of [
  ["fc00::", 7],
  ["fe80::", 10],
] as const)
  PRIVATE.addSubnet(net, bits, "ipv6");
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8);
LOOPBACK.addAddress("::1", "ipv6");

/** Returns the class of an address: four kinds, however many callers there are. */
export function addressClass(address: string | undefined): string {
  if (address === undefined) return "unknown";
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  const family = isIPv6(plain) ? "ipv6" : "ipv4";
  if (LOOPBACK.check(plain, family)) return "loopback";
  return PRIVATE.check(plain, family) ? "private" : "public";
}

/**
 * Ids: a prefix for the kind of record, and a UUIDv7, so that ids sort roughly by time and an index over them
 * grows at one end. They are not used as cursors of a feed, because the clocks of two processes differ.
 */
import type { Clock } from "./clock.ts";

/** The prefix of each kind of id. */
export const ID_PREFIXES = {
  memory: "mem_",
  envelope: "env_",
  delivery: "dlv_",
  task: "tsk_",
  session: "ses_",
  token: "tok_",
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";

/** Returns a pattern that matches exactly the ids of a kind. */
export function idPattern(kind: IdKind): RegExp {
  return new RegExp(`^${ID_PREFIXES[kind]}${UUID}$`);
}

/** Creates ids and salts for everything this process writes. Injected, like the clock. */
export interface IdGenerator {
  /** Returns a new id, such as `mem_…`. */
  mint(kind: IdKind): string;
  /** Returns 16 random bytes as hex. A salt prevents guessing a redacted record from its digest. */
  salt(): string;
}

/** Lookup tables for hex: `Buffer.toString` costs more than the hash itself. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const HEX3 = Array.from({ length: 0x1000 }, (_, n) => n.toString(16).padStart(3, "0"));
const hex = (byte: number | undefined): string => HEX[byte ?? 0] as string;

/** Returns a generator that takes its random bytes from `fill`. */
export function createIdGenerator(
  clock: Clock,
  fill: (bytes: Uint8Array<ArrayBuffer>) => void,
): IdGenerator {
  const pool = new Uint8Array(4096);
  let used = pool.length;
  const take = (count: number): number => {
    if (used + count > pool.length) {
      fill(pool);
      used = 0;
    }
    used += count;
    return used - count;
  };
  const run = (from: number, to: number): string => {
    let text = "";
    for (let i = from; i < to; i++) text += hex(pool[i]);
    return text;
  };
  let last = -1;
  let counter = 0;
  let stamp = "";
  /** Ids within one millisecond count up (RFC 9562, method 1), so that an index over them fills its pages. */
  const tick = (): void => {
    const now = Math.max(last, clock.now());
    const full = now === last && counter === 0xfff;
    const next = full ? now + 1 : now;
    counter = next === last ? counter + 1 : 0;
    if (next === last) return;
    last = next;
    const time = next.toString(16).padStart(12, "0");
    stamp = `${time.slice(0, 8)}-${time.slice(8)}-7`;
  };
  return {
    mint(kind) {
      tick();
      const at = take(8);
      const count = HEX3[counter] as string;
      const variant = hex(0x80 | ((pool[at] as number) & 0x3f)) + hex(pool[at + 1]);
      return `${ID_PREFIXES[kind]}${stamp}${count}-${variant}-${run(at + 2, at + 8)}`;
    },
    salt() {
      const at = take(16);
      return run(at, at + 16);
    },
  };
}

/** Returns a generator with cryptographically secure random bytes. */
export const randomIdGenerator = (clock: Clock): IdGenerator =>
  createIdGenerator(clock, (bytes) => crypto.getRandomValues(bytes));

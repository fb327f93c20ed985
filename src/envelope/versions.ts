/**
 * Versions of the envelope. A minor one only adds: whoever knows a major version reads every minor of it,
 * and keeps what it does not know. A major one comes with two converters, and with a period in which
 * what is sent can be read in both forms: the text is of the newer form, and says under `forms` how the
 * older one differs. What a form has no field for travels in it as a field it does not know, so that a
 * line that changes hands between old and new hubs loses nothing.
 *
 * Hubs work with the shape of `schema.ts`, whatever is written; this is where texts become that shape,
 * and that shape becomes what is written.
 */
import { BatonError } from "../base/errors.ts";
import { ENVELOPE_MAJOR, ENVELOPE_VERSION, type Envelope, ReadEnvelope } from "./schema.ts";
import { parseOr } from "./violations.ts";

/** An envelope of some version, as JSON. */
export type Form = Readonly<Record<string, unknown>>;

/** A field that goes away: senders are told what to say instead. */
export interface Deprecated {
  /** Such as `doNotRedo` or `constraints[].source`. */
  readonly path: string;
  /** The version it is deprecated since. */
  readonly since: string;
  /** What is said instead. */
  readonly use: string;
}

/** From one major version to the next. Neither way loses anything, known or unknown. */
export interface MajorStep {
  readonly from: number;
  readonly to: number;
  readonly up: (older: Form) => Form;
  readonly down: (newer: Form) => Form;
  /** What the older form says in another way than the newer one. */
  readonly deprecated?: readonly Deprecated[];
}

/**
 * What stores, verification and policy rely on without knowing the rest: these fields mean the same in
 * every version, and no converter may touch them.
 */
const FRAME = [
  "after",
  "branch",
  "failure",
  "from",
  "hop",
  "id",
  "joins",
  "mergeOnComplete",
  "metadata",
  "parents",
  "path",
  "policy",
  "queued",
  "redacted",
  "results",
  "run",
  "task",
  "to",
  "touches",
  "workspace",
] as const satisfies (keyof Envelope)[];

/** What can be read of an envelope of any version. */
export type Frame = Pick<Envelope, (typeof FRAME)[number]>;

/** How an older form differs from the one it stands in: without these fields, and with those. */
interface FormChange {
  readonly version: string;
  readonly with: Form;
  readonly without: readonly string[];
}

/** Fields that went away in a minor version. */
const DEPRECATED: readonly Deprecated[] = [];

export class Versions {
  /** The version of what is written. */
  readonly writes: string;
  readonly deprecated: readonly Deprecated[];
  readonly #older: readonly string[];
  readonly #steps: readonly MajorStep[];

  constructor({
    steps = [],
    writes = ENVELOPE_VERSION,
    alongside = [],
    deprecated = DEPRECATED,
  }: {
    readonly steps?: readonly MajorStep[];
    readonly writes?: string;
    /** Older versions that what is written can be read in as well. */
    readonly alongside?: readonly string[];
    readonly deprecated?: readonly Deprecated[];
  } = {}) {
    this.writes = writes;
    this.#older = alongside;
    this.#steps = steps;
    this.deprecated = [...deprecated, ...steps.flatMap((step) => step.deprecated ?? [])];
  }

  /** True: what is written has the shape that hubs work with. */
  get writesOwnShape(): boolean {
    return majorOf(this.writes) === ENVELOPE_MAJOR;
  }

  /** The shape that hubs work with, of an envelope of any version that can be read. */
  read(form: Form, id: string): Envelope {
    if (majorOf(form?.["version"]) === ENVELOPE_MAJOR) return form as unknown as Envelope;
    const converted = this.inMajor(form, ENVELOPE_MAJOR, id);
    const what = `${id}, in the form of ${ENVELOPE_VERSION},`;
    return parseOr(ReadEnvelope, converted, { code: "unsupported_version", what });
  }

  /** The envelope in the form of a major version. */
  inMajor(form: Form, major: number, id: string): Form {
    const { forms, ...newest } = form ?? {};
    const older = (Array.isArray(forms) ? forms : []).filter(isChange);
    // Its own form says all of it; another one will do where that is not known here.
    for (const known of [newest, ...older.map((change) => changed(newest, change))]) {
      if (movedIn(newest, known) !== undefined) continue; // No form of this envelope.
      const from = majorOf(known["version"]);
      if (from !== undefined && this.#leads(from, major)) return this.#convert(known, from, major);
    }
    throw unsupported(form, id, this.#majors());
  }

  /** What is written: the envelope in the form of `writes`, with how the older forms differ. */
  write(envelope: Envelope): Form {
    if (this.writesOwnShape) return envelope as unknown as Form;
    const major = majorOf(this.writes) ?? ENVELOPE_MAJOR;
    const { forms: _, ...said } = envelope as unknown as Form; // Those are written here alone.
    const own = this.#convert(said, ENVELOPE_MAJOR, major);
    const newest = { ...own, version: this.writes };
    const forms = this.#older.map((version): FormChange => {
      const older = this.#convert(newest, major, majorOf(version) ?? ENVELOPE_MAJOR);
      return changeTo(newest, { ...older, version });
    });
    return forms.length === 0 ? newest : { ...newest, forms };
  }

  #majors(): readonly number[] {
    return [ENVELOPE_MAJOR, ...this.#steps.flatMap(({ from, to }) => [from, to])];
  }

  /** Whether there is a way from one to the other. */
  #leads(from: number, to: number): boolean {
    return this.#majors().includes(from) && this.#majors().includes(to);
  }

  #convert(form: Form, from: number, to: number): Form {
    let at = from;
    let now = form;
    while (at !== to) {
      const step = this.#steps.find((each) => (at < to ? each.from === at : each.to === at));
      if (step === undefined) throw new Error(`no step leads from version ${at} to ${to}`);
      const next = at < to ? step.up(now) : step.down(now);
      requireFrame(now, next);
      now = next;
      at = at < to ? step.to : step.from;
    }
    return at === from ? form : { ...now, version: this.#versionIn(at) };
  }

  #versionIn(major: number): string {
    if (major === ENVELOPE_MAJOR) return ENVELOPE_VERSION;
    return major === majorOf(this.writes) ? this.writes : `${major}.0`;
  }
}

/** What this Baton reads and writes. */
export const SHIPPED = new Versions();

/** The major of `major.minor`; undefined when that is no version. */
export function majorOf(version: unknown): number | undefined {
  if (typeof version !== "string") return undefined;
  const [, major] = /^([1-9][0-9]*)\.(?:0|[1-9][0-9]*)$/.exec(version) ?? [];
  return major === undefined ? undefined : Number(major);
}

/** Of two JSON values, whatever the order of their keys; an undefined field is none. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [one, other] = [a, b] as readonly Form[] as readonly [Form, Form];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => isSame(one[name], other[name]));
}

function changeTo(newest: Form, older: Form): FormChange {
  const said = Object.entries(older).filter(([name, value]) => !isSame(value, newest[name]));
  return {
    version: String(older["version"]),
    with: Object.fromEntries(said),
    without: Object.keys(newest)
      .filter((name) => older[name] === undefined)
      .sort(),
  };
}

function changed(newest: Form, { with: said, without }: FormChange): Form {
  const left = Object.entries(newest).filter(([name]) => !without.includes(name));
  return { ...Object.fromEntries(left), ...said };
}

const isObject = (value: unknown): value is Form =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Anybody may have written it. */
function isChange(value: unknown): value is FormChange {
  return isObject(value) && isObject(value["with"]) && Array.isArray(value["without"]);
}

/** The first field that says something else in the other form, although no version may change it. */
const movedIn = (before: Form, after: Form): string | undefined =>
  FRAME.find((field) => !isSame(before[field], after[field]));

function requireFrame(before: Form, after: Form): void {
  const moved = movedIn(before, after);
  if (moved !== undefined) throw new Error(`a converter changed ${moved}, which no version may`);
}

function unsupported(form: Form, id: string, majors: readonly number[]): BatonError {
  const version = typeof form["version"] === "string" ? form["version"] : "none that is known";
  const known = [...new Set(majors)].map((major) => `${major}.x`).join(", ");
  return new BatonError("unsupported_version", {
    message: `${id} is of version ${version}; this Baton reads ${known}.`,
    path: id,
    hint: `Update Baton, or let its sender write ${known} alongside.`,
    details: { version, known },
  });
}

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
import {
  ENVELOPE_MAJOR,
  ENVELOPE_VERSION,
  type Envelope,
  TolerantEnvelopeSchema,
} from "./schema.ts";
import { parseOrThrow } from "./violations.ts";

/** An envelope of some version, as JSON. */
export type EnvelopeForm = Readonly<Record<string, unknown>>;

/** A field that goes away: senders are told what to say instead. */
export interface DeprecatedField {
  /** Such as `doNotRedo` or `constraints[].source`. */
  readonly path: string;
  /** The version it is deprecated since. */
  readonly since: string;
  /** What is said instead. */
  readonly use: string;
}

/** From one major version to the next. Neither way loses anything, known or unknown. */
export interface MajorVersionMigration {
  readonly from: number;
  readonly to: number;
  readonly up: (older: EnvelopeForm) => EnvelopeForm;
  readonly down: (newer: EnvelopeForm) => EnvelopeForm;
  /** What the older form says in another way than the newer one. */
  readonly deprecated?: readonly DeprecatedField[];
}

/**
 * What stores, verification and policy rely on without knowing the rest: these fields mean the same in
 * every version, and no converter may touch them.
 */
const STABLE_FIELDS = [
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
export type StableFields = Pick<Envelope, (typeof STABLE_FIELDS)[number]>;

/** How an older form differs from the one it stands in: without these fields, and with those. */
interface FormChange {
  readonly version: string;
  readonly with: EnvelopeForm;
  readonly without: readonly string[];
}

/** Fields that went away in a minor version. */
const DEPRECATED: readonly DeprecatedField[] = [];

export class EnvelopeVersions {
  /** The version of what is written. */
  readonly writes: string;
  readonly deprecated: readonly DeprecatedField[];
  readonly #older: readonly string[];
  readonly #steps: readonly MajorVersionMigration[];

  constructor({
    steps = [],
    writes = ENVELOPE_VERSION,
    alongside = [],
    deprecated = DEPRECATED,
  }: {
    readonly steps?: readonly MajorVersionMigration[];
    readonly writes?: string;
    /** Older versions that what is written can be read in as well. */
    readonly alongside?: readonly string[];
    readonly deprecated?: readonly DeprecatedField[];
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
  read(form: EnvelopeForm, id: string): Envelope {
    if (majorOf(form?.["version"]) === ENVELOPE_MAJOR) return form as unknown as Envelope;
    const converted = this.inMajor(form, ENVELOPE_MAJOR, id);
    const what = `${id}, in the form of ${ENVELOPE_VERSION},`;
    return parseOrThrow(TolerantEnvelopeSchema, converted, { code: "unsupported_version", what });
  }

  /** The envelope in the form of a major version. */
  inMajor(form: EnvelopeForm, major: number, id: string): EnvelopeForm {
    const { forms, ...newest } = form ?? {};
    const older = (Array.isArray(forms) ? forms : []).filter(isChange);
    // Its own form says all of it; another one will do where that is not known here.
    for (const known of [newest, ...older.map((change) => applyFormChange(newest, change))]) {
      if (findChangedStableField(newest, known) !== undefined) continue; // No form of this envelope.
      const from = majorOf(known["version"]);
      if (from !== undefined && this.#leads(from, major)) return this.#convert(known, from, major);
    }
    throw unsupported(form, id, this.#majors());
  }

  /** What is written: the envelope in the form of `writes`, with how the older forms differ. */
  write(envelope: Envelope): EnvelopeForm {
    if (this.writesOwnShape) return envelope as unknown as EnvelopeForm;
    const major = majorOf(this.writes) ?? ENVELOPE_MAJOR;
    const { forms: _, ...said } = envelope as unknown as EnvelopeForm; // Those are written here alone.
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

  #convert(form: EnvelopeForm, from: number, to: number): EnvelopeForm {
    let at = from;
    let now = form;
    while (at !== to) {
      const step = this.#steps.find((each) => (at < to ? each.from === at : each.to === at));
      if (step === undefined) throw new Error(`no step leads from version ${at} to ${to}`);
      const next = at < to ? step.up(now) : step.down(now);
      requireStableFields(now, next);
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
export const DEFAULT_VERSIONS = new EnvelopeVersions();

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
  const [one, other] = [a, b] as readonly EnvelopeForm[] as readonly [EnvelopeForm, EnvelopeForm];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => isSame(one[name], other[name]));
}

function changeTo(newest: EnvelopeForm, older: EnvelopeForm): FormChange {
  const said = Object.entries(older).filter(([name, value]) => !isSame(value, newest[name]));
  return {
    version: String(older["version"]),
    with: Object.fromEntries(said),
    without: Object.keys(newest)
      .filter((name) => older[name] === undefined)
      .sort(),
  };
}

function applyFormChange(newest: EnvelopeForm, { with: said, without }: FormChange): EnvelopeForm {
  const left = Object.entries(newest).filter(([name]) => !without.includes(name));
  return { ...Object.fromEntries(left), ...said };
}

const isObject = (value: unknown): value is EnvelopeForm =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Anybody may have written it. */
function isChange(value: unknown): value is FormChange {
  return isObject(value) && isObject(value["with"]) && Array.isArray(value["without"]);
}

/** The first field that says something else in the other form, although no version may change it. */
const findChangedStableField = (before: EnvelopeForm, after: EnvelopeForm): string | undefined =>
  STABLE_FIELDS.find((field) => !isSame(before[field], after[field]));

function requireStableFields(before: EnvelopeForm, after: EnvelopeForm): void {
  const moved = findChangedStableField(before, after);
  if (moved !== undefined) throw new Error(`a converter changed ${moved}, which no version may`);
}

function unsupported(form: EnvelopeForm, id: string, majors: readonly number[]): BatonError {
  const version = typeof form["version"] === "string" ? form["version"] : "none that is known";
  const known = [...new Set(majors)].map((major) => `${major}.x`).join(", ");
  return new BatonError("unsupported_version", {
    message: `${id} is of version ${version}; this Baton reads ${known}.`,
    path: id,
    hint: `Update Baton, or let its sender write ${known} alongside.`,
    details: { version, known },
  });
}

/**
 * Reads and writes envelopes of all supported versions. A minor version only adds fields: a reader of a major
 * version reads every minor version of it and keeps unknown fields. A major version comes with two converters
 * and a transition period in which a sent envelope can be read in both forms: the text has the newer form,
 * and its field `forms` contains the differences to the older one. Data without a field in a form is kept
 * there as an unknown field, so that a line passing between old and new hubs loses nothing.
 *
 * Hubs always work with the shape of `schema.ts`; this file converts stored texts to that shape and back.
 */
import { BatonError } from "../base/errors.ts";
import {
  ENVELOPE_MAJOR,
  ENVELOPE_VERSION,
  type Envelope,
  TolerantEnvelopeSchema,
} from "./schema.ts";
import { parseOrThrow } from "./violations.ts";

/** An envelope of any version, as JSON. */
export type EnvelopeForm = Readonly<Record<string, unknown>>;

/** A field that will be removed; senders get a warning with its replacement. */
export interface DeprecatedField {
  /** Path, such as `doNotRedo` or `constraints[].source`. */
  readonly path: string;
  /** The version that deprecated it. */
  readonly since: string;
  /** What to use instead. */
  readonly use: string;
}

/** Converts between a major version and the next. Neither direction loses a field, known or unknown. */
export interface MajorVersionMigration {
  readonly from: number;
  readonly to: number;
  /** Converts an envelope to the newer version. */
  readonly up: (older: EnvelopeForm) => EnvelopeForm;
  /** Converts an envelope to the older version. */
  readonly down: (newer: EnvelopeForm) => EnvelopeForm;
  /** Fields that the newer form expresses differently. */
  readonly deprecated?: readonly DeprecatedField[];
}

/**
 * Fields that stores, verification and policies use without knowing the rest. They mean the same in every
 * version, and a converter must not change them.
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

/** The fields that can be read from an envelope of any version. */
export type StableFields = Pick<Envelope, (typeof STABLE_FIELDS)[number]>;

/** The difference between an older form and the form that contains it: fields to remove and fields to set. */
interface FormChange {
  readonly version: string;
  readonly with: EnvelopeForm;
  readonly without: readonly string[];
}

/** Fields deprecated in a minor version. */
const DEPRECATED: readonly DeprecatedField[] = [];

/** The versions that a hub reads and writes. */
export class EnvelopeVersions {
  /** The version of written envelopes. */
  readonly writes: string;
  /** Every deprecated field of the supported versions. */
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
    /** Older versions in which a written envelope can also be read. */
    readonly alongside?: readonly string[];
    readonly deprecated?: readonly DeprecatedField[];
  } = {}) {
    this.writes = writes;
    this.#older = alongside;
    this.#steps = steps;
    this.deprecated = [...deprecated, ...steps.flatMap((step) => step.deprecated ?? [])];
  }

  /** True if envelopes are written in the shape that hubs work with. */
  get writesOwnShape(): boolean {
    return majorOf(this.writes) === ENVELOPE_MAJOR;
  }

  /**
   * Converts an envelope of any supported version to the shape that hubs work with. Throws
   * `unsupported_version`.
   */
  read(form: EnvelopeForm, id: string): Envelope {
    if (majorOf(form?.["version"]) === ENVELOPE_MAJOR) return form as unknown as Envelope;
    const converted = this.inMajor(form, ENVELOPE_MAJOR, id);
    const what = `${id}, in the form of ${ENVELOPE_VERSION},`;
    return parseOrThrow(TolerantEnvelopeSchema, converted, { code: "unsupported_version", what });
  }

  /**
   * Converts an envelope to the form of a major version. Throws `unsupported_version` if there is no
   * converter.
   */
  inMajor(form: EnvelopeForm, major: number, id: string): EnvelopeForm {
    const { forms, ...newest } = form ?? {};
    const older = (Array.isArray(forms) ? forms : []).filter(isChange);
    // The newest form is complete; an older one is used if the newest is not supported here.
    for (const known of [newest, ...older.map((change) => applyFormChange(newest, change))]) {
      if (findChangedStableField(newest, known) !== undefined) continue; // Not a form of this envelope.
      const from = majorOf(known["version"]);
      if (from !== undefined && this.#leads(from, major)) return this.#convert(known, from, major);
    }
    throw unsupported(form, id, this.#majors());
  }

  /** Returns the envelope to write: in the form of `writes`, with the differences to the older forms. */
  write(envelope: Envelope): EnvelopeForm {
    if (this.writesOwnShape) return envelope as unknown as EnvelopeForm;
    const major = majorOf(this.writes) ?? ENVELOPE_MAJOR;
    const { forms: _, ...content } = envelope as unknown as EnvelopeForm; // Only this method writes `forms`.
    const own = this.#convert(content, ENVELOPE_MAJOR, major);
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

  /** Returns true if both versions can be converted to each other. */
  #leads(from: number, to: number): boolean {
    return this.#majors().includes(from) && this.#majors().includes(to);
  }

  #convert(form: EnvelopeForm, from: number, to: number): EnvelopeForm {
    let at = from;
    let now = form;
    while (at !== to) {
      const step = this.#steps.find((each) => (at < to ? each.from === at : each.to === at));
      if (step === undefined) throw new Error(`no converter from version ${at} to ${to}`);
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

/** The versions that this release reads and writes. */
export const DEFAULT_VERSIONS = new EnvelopeVersions();

/** Returns the major version of `major.minor`; undefined for an invalid version. */
export function majorOf(version: unknown): number | undefined {
  if (typeof version !== "string") return undefined;
  const [, major] = /^([1-9][0-9]*)\.(?:0|[1-9][0-9]*)$/.exec(version) ?? [];
  return major === undefined ? undefined : Number(major);
}

/** Compares two JSON values regardless of key order; an undefined field counts as absent. */
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

function applyFormChange(
  newest: EnvelopeForm,
  { with: changes, without }: FormChange,
): EnvelopeForm {
  const left = Object.entries(newest).filter(([name]) => !without.includes(name));
  return { ...Object.fromEntries(left), ...changes };
}

const isObject = (value: unknown): value is EnvelopeForm =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Validates the form of a change: any sender may have written it. */
function isChange(value: unknown): value is FormChange {
  return isObject(value) && isObject(value["with"]) && Array.isArray(value["without"]);
}

/** Returns the first stable field that differs between two forms, although no version may change it. */
const findChangedStableField = (before: EnvelopeForm, after: EnvelopeForm): string | undefined =>
  STABLE_FIELDS.find((field) => !isSame(before[field], after[field]));

function requireStableFields(before: EnvelopeForm, after: EnvelopeForm): void {
  const moved = findChangedStableField(before, after);
  if (moved !== undefined)
    throw new Error(`a converter changed ${moved}, which must be the same in every version`);
}

function unsupported(form: EnvelopeForm, id: string, majors: readonly number[]): BatonError {
  const version = typeof form["version"] === "string" ? form["version"] : "unknown";
  const known = [...new Set(majors)].map((major) => `${major}.x`).join(", ");
  return new BatonError("unsupported_version", {
    message: `${id} has envelope version ${version}; this version of Baton reads ${known}.`,
    path: id,
    hint: `Upgrade Baton, or configure the sender to write ${known} as well.`,
    details: { version, known },
  });
}

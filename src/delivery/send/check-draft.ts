/**
 * Checks a draft strictly, field by field. An agent that passes work on may copy parts of the envelope it
 * received, and those may have fields of a later version: unknown fields in copied parts are allowed.
 */
import { isDeepStrictEqual } from "node:util";
import { parseGlobs } from "../../base/globs.ts";
import {
  type CheckedDraft,
  CompiledDraftSchema,
  type Envelope,
  TolerantDraftSchema,
} from "../../envelope/schema.ts";
import { dropUnknownFields } from "../../envelope/unknown-fields.ts";
import { parseOrThrow } from "../../envelope/violations.ts";

const REFUSAL = { code: "invalid_envelope", what: "The handoff" } as const;

/**
 * Returns the parsed draft; throws `invalid_envelope` with every violation. `passedOn`: the received
 * envelope.
 */
export function checkDraft(draft: unknown, passedOn: Envelope | undefined): CheckedDraft {
  const checked = checkForm(draft, passedOn);
  if (checked.touches) parseGlobs(checked.touches, { code: "invalid_envelope", path: "touches" });
  return checked;
}

function checkForm(draft: unknown, passedOn: Envelope | undefined): CheckedDraft {
  const strict = CompiledDraftSchema.safeParse(draft);
  if (strict.success) return strict.data;
  const own = passedOn === undefined ? draft : withoutCopied(draft, passedOn);
  const checked = parseOrThrow(CompiledDraftSchema, own, REFUSAL); // Reports every violation at once.
  return own === draft ? checked : TolerantDraftSchema.parse(draft);
}

interface Copy {
  readonly copied: unknown;
  readonly known: unknown;
}

/** Returns the draft without the unknown fields of parts that are copied unchanged from the envelope. */
function withoutCopied(draft: unknown, envelope: Envelope): unknown {
  const copies = copiesOf(envelope);
  if (copies.length === 0 || typeof draft !== "object" || draft === null) return draft;
  const original = (part: unknown): unknown =>
    copies.find(({ copied }) => isDeepStrictEqual(copied, part))?.known ?? part;
  const entries = Object.entries(draft).map(([name, part]) => [
    name,
    Array.isArray(part) ? part.map(original) : original(part),
  ]);
  return Object.fromEntries(entries);
}

/** Returns the parts of an envelope that have unknown fields, each with and without them. */
function copiesOf(envelope: Envelope): readonly Copy[] {
  const known = new Map<string, unknown>(Object.entries(dropUnknownFields(envelope)));
  return Object.entries(envelope).flatMap(([name, part]) => {
    const items = (value: unknown) => (Array.isArray(value) ? value : [value]);
    const meant = items(known.get(name));
    return items(part)
      .map((copied, i) => ({ copied, known: meant[i] }))
      .filter((copy) => copy.known !== undefined && !isDeepStrictEqual(copy.copied, copy.known))
      .flatMap((copy) => (name === "refs" ? [copy, withoutDigests(copy)] : [copy]));
  });
}

/** A draft that repeats a reference has no digest in it. */
const withoutDigests = ({ copied, known }: Copy): Copy => ({
  copied: withoutDigest(copied),
  known: withoutDigest(known),
});

function withoutDigest(ref: unknown): object {
  const { digest: _digest, ...rest } = ref as Envelope["refs"][number];
  return rest;
}

/**
 * Derives the schema for readers from the schema for writers. A writer may use only known fields; a reader
 * must accept fields of later versions at any depth and keep them. Both schemas come from one definition.
 */
import * as z from "zod";

/** What to do with a field that the schema does not define. */
type UnknownFieldMode = "keep" | "drop";

type Def = Readonly<Record<string, unknown>> & { readonly type: string };

/** Returns the schema with every object in it open: unknown fields are kept (default) or dropped. */
export function toTolerantSchema<Schema extends z.ZodType>(
  schema: Schema,
  unknown: UnknownFieldMode = "keep",
): Schema {
  const changes = changesIn(
    schema.def as unknown as Def,
    (part) => toTolerantSchema(part, unknown),
    unknown,
  );
  if (changes === undefined) return schema;
  const changed = schema.clone({ ...schema.def, ...changes } as never) as Schema;
  const meta = schema.meta(); // clone() does not copy it.
  return meta === undefined ? changed : (changed.meta(meta) as Schema);
}

type MakeTolerant = (part: z.ZodType) => z.ZodType;

/** Returns the changes to a definition; undefined if it contains no object. */
function changesIn(def: Def, open: MakeTolerant, unknown: UnknownFieldMode): object | undefined {
  switch (def.type) {
    case "object": {
      const shape = Object.entries(def["shape"] as Record<string, z.ZodType>);
      const fields = Object.fromEntries(shape.map(([name, field]) => [name, open(field)]));
      return { shape: fields, catchall: catchallOf(def, unknown) };
    }
    case "array":
      return { element: open(def["element"] as z.ZodType) };
    case "union":
      return { options: (def["options"] as z.ZodType[]).map(open) };
    case "default":
    case "optional":
      return { innerType: open(def["innerType"] as z.ZodType) };
    case "pipe":
      return { in: open(def["in"] as z.ZodType), out: open(def["out"] as z.ZodType) };
    default:
      return undefined;
  }
}

/** An object that already allows additional fields stays as it is. */
function catchallOf({ catchall }: Def, unknown: UnknownFieldMode): unknown {
  const isClosed = catchall === undefined || (catchall as z.ZodType) instanceof z.ZodNever;
  if (!isClosed) return catchall;
  return unknown === "keep" ? z.unknown() : undefined;
}

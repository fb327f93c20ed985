/**
 * The same schema for a reader: whoever writes an envelope is held to the fields there are, whoever reads
 * one must expect fields of a later version, at any depth, and lose none of them. Both come from one
 * definition; this is the step from the one to the other.
 */
import * as z from "zod";

/** What is done with a field that the schema does not name. */
type UnknownFieldMode = "keep" | "drop";

type Def = Readonly<Record<string, unknown>> & { readonly type: string };

/** The schema with every object in it open: fields it does not name are kept, or left out. */
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
  const meta = schema.meta(); // A copy has none of its own.
  return meta === undefined ? changed : (changed.meta(meta) as Schema);
}

type MakeTolerant = (part: z.ZodType) => z.ZodType;

/** What is different in the definition; undefined where there is no object in it. */
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

/** An object that anybody may put fields of their own into stays so. */
function catchallOf({ catchall }: Def, unknown: UnknownFieldMode): unknown {
  const isClosed = catchall === undefined || (catchall as z.ZodType) instanceof z.ZodNever;
  if (!isClosed) return catchall;
  return unknown === "keep" ? z.unknown() : undefined;
}

/**
 * `Fields<Type>`: the compile-time check that a zod schema describes a type. The schema has every field of
 * the type and no others, each with the same value type; only optional fields may be absent.
 */
import type * as z from "zod";

export type Fields<Type> = {
  readonly [Name in keyof Type]-?: Record<never, never> extends Pick<Type, Name>
    ? z.ZodType<Type[Name] | undefined>
    : z.ZodType<Type[Name]>;
};

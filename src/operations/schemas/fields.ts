/**
 * Holds a schema to the type it describes: every field of the type is there, none besides, each with
 * what it holds, and only those may be missing that can be.
 */
import type * as z from "zod";

export type Fields<Type> = {
  readonly [Name in keyof Type]-?: Record<never, never> extends Pick<Type, Name>
    ? z.ZodType<Type[Name] | undefined>
    : z.ZodType<Type[Name]>;
};

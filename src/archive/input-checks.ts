/** Checks of the arguments of exports, imports and backups: paths, options and progress listeners. */
import * as z from "zod";
import { parseOrThrow } from "../envelope/violations.ts";

const FilePath = z
  .string()
  .min(1)
  .refine((path) => !path.includes("\0"), {
    error: "must not contain a NUL character",
    params: { rule: "no_nul", hint: "Pass the path of a file." },
  });

/** Returns a checked file path. Throws `invalid_input`. */
export const checkedFile = (file: string, path = "file"): string =>
  parseOrThrow(FilePath, file, {
    code: "invalid_input",
    what: "The path of the file",
    prefix: path,
  });

/** The schema of an optional progress listener. */
export const progressListener = <Progress>() =>
  z
    .custom<(progress: Progress) => void>((value) => typeof value === "function", {
      error: "must be a function",
      params: { rule: "type", hint: "Pass a function or omit it." },
    })
    .optional();

/** Returns checked options. Throws `invalid_input`. */
export const checkedOptions = <Schema extends z.ZodType>(
  schema: Schema,
  options: z.input<Schema>,
): z.output<Schema> =>
  parseOrThrow(schema, options, {
    code: "invalid_input",
    what: "The options",
    unwritten: "onProgress",
  });

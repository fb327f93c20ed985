/** What callers of keeping give: a path, and options with somebody who listens to the progress. */
import * as z from "zod";
import { parseOrThrow } from "../envelope/violations.ts";

const FilePath = z
  .string()
  .min(1)
  .refine((path) => !path.includes("\0"), {
    error: "must not contain a zero character",
    params: { rule: "no_nul", hint: "Name a file by its path." },
  });

export const checkedFile = (file: string, path = "file"): string =>
  parseOrThrow(FilePath, file, {
    code: "invalid_input",
    what: "The path of the file",
    prefix: path,
  });

/** Whoever is told how far it has come. */
export const progressListener = <Progress>() =>
  z
    .custom<(progress: Progress) => void>((value) => typeof value === "function", {
      error: "must be a function",
      params: { rule: "type", hint: "Pass a function, or leave it out." },
    })
    .optional();

export const checkedOptions = <Schema extends z.ZodType>(
  schema: Schema,
  options: z.input<Schema>,
): z.output<Schema> =>
  parseOrThrow(schema, options, {
    code: "invalid_input",
    what: "The options",
    unwritten: "onProgress",
  });

/** Removes undefined fields, because the library uses the default only if a field is absent. */
/** The same fields, all optional and never undefined. */
export type DefinedFields<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** Returns a copy without the fields that are undefined. */
export function omitUndefined<Fields extends object>(fields: Fields): DefinedFields<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as DefinedFields<Fields>;
}

/** Pages: every list with a limit takes `{ after?, limit? }` and returns `{ items, next? }`. */

/** One page of a list. Pass `next` as `after` to get the following page; the last page has no `next`. */
export interface Page<Item, Cursor = string> {
  readonly items: readonly Item[];
  readonly next?: Cursor;
}

/**
 * Makes a page from a list that was read with `limit + 1`: the extra item shows that there is a next page.
 */
export function pageOf<Item, Cursor = string>(
  read: readonly Item[],
  limit: number,
  cursorOf: (last: Item) => Cursor,
): Page<Item, Cursor> {
  const last = read[limit - 1];
  if (read.length <= limit || last === undefined) return { items: read };
  return { items: read.slice(0, limit), next: cursorOf(last) };
}

/** Returns the same page with each item converted. */
export const mapPage = <From, To, Cursor>(
  page: Page<From, Cursor>,
  convert: (item: From) => To,
): Page<To, Cursor> => ({ ...page, items: page.items.map(convert) });

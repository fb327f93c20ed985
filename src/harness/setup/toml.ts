/**
 * Reading TOML 1.0, as much as it takes to know that a file is whole and what its tables say: strings,
 * lists and inline tables as they are; numbers, dates and booleans as their text. Comments and layout
 * are kept by never writing what was read: changes are made to the text.
 */

export type Toml = string | Bare | readonly Toml[] | TomlTable;
/** A number, date or boolean, as it is written. */
export interface Bare {
  readonly bare: string;
}
export class TomlTable {
  readonly values = new Map<string, Toml>();
  /** Named by a header of its own: another header may not name it again. */
  isDefined = false;
  /** Written as a value: nothing can be added to it. */
  isWhole = false;
}

/** With the line it happened on. */
export class TomlError extends Error {}

export function parseToml(text: string): TomlTable {
  return new Reader(text).document();
}

/** A value by its keys; undefined where there is none. */
export function tomlAt(table: TomlTable, path: readonly string[]): Toml | undefined {
  return path.reduce<Toml | undefined>(
    (value, key) => (value instanceof TomlTable ? value.values.get(key) : undefined),
    table,
  );
}

const BARE_KEY = /[A-Za-z0-9_-]+/y;
const BARE_VALUE =
  /(?:true|false|[+-]?(?:inf|nan)|0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+|\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:\d{2})?)?|\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?|[+-]?\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d[\d_]*)?)(?![\w.+-])/y;
const BLANK = /[ \t]*/y;
const COMMENT = /#[^\n]*/y;
const ESCAPES: Readonly<Record<string, string>> = {
  b: "\b",
  t: "\t",
  n: "\n",
  f: "\f",
  r: "\r",
  e: "\u001b",
  '"': '"',
  "\\": "\\",
};

/** Of tables with headers of their own: a list that was written as a value is whole. */
const isOpenList = (there: Toml): boolean => {
  const last = Array.isArray(there) ? (there as readonly Toml[]).at(-1) : undefined;
  return last instanceof TomlTable && !last.isWhole;
};

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text.replaceAll("\r\n", "\n");
  }

  document(): TomlTable {
    const root = new TomlTable();
    let table = root;
    for (this.#space(); this.#at < this.#text.length; this.#space()) {
      if (this.#next("[[")) table = this.#header(root, "]]");
      else if (this.#next("[")) table = this.#header(root, "]");
      else this.#pair(table);
      this.#lineEnd();
    }
    return root;
  }

  #header(root: TomlTable, closing: string): TomlTable {
    const keys = this.#keys();
    this.#need(closing);
    const parent = this.#descend(root, keys.slice(0, -1));
    const key = keys.at(-1) as string;
    const there = parent.values.get(key);
    if (closing === "]]") {
      if (there !== undefined && !isOpenList(there))
        throw this.#wrong(`"${key}" is no list of tables`);
      const table = new TomlTable();
      parent.values.set(key, [...((there as readonly Toml[] | undefined) ?? []), table]);
      return table;
    }
    if (there !== undefined && !(there instanceof TomlTable))
      throw this.#wrong(`"${key}" is set twice`);
    const table = there ?? new TomlTable();
    if (table.isDefined) throw this.#wrong(`the table "${keys.join(".")}" is there twice`);
    table.isDefined = true;
    parent.values.set(key, table);
    return table;
  }

  #pair(table: TomlTable): void {
    const keys = this.#keys();
    this.#need("=");
    this.#blank();
    const holder = this.#descend(table, keys.slice(0, -1));
    const key = keys.at(-1) as string;
    if (holder.values.has(key)) throw this.#wrong(`"${key}" is set twice`);
    holder.values.set(key, this.#value());
  }

  /** Of a list of tables, into its last. */
  #descend(table: TomlTable, keys: readonly string[]): TomlTable {
    return keys.reduce((holder, key) => {
      const there = holder.values.get(key);
      const inner = Array.isArray(there) ? there.at(-1) : there;
      if (inner instanceof TomlTable && !inner.isWhole) return inner;
      if (there !== undefined) throw this.#wrong(`"${key}" is no table that can be added to`);
      const made = new TomlTable();
      holder.values.set(key, made);
      return made;
    }, table);
  }

  #keys(): string[] {
    const keys: string[] = [];
    do {
      this.#blank();
      keys.push(this.#key());
      this.#blank();
    } while (this.#next("."));
    return keys;
  }

  #key(): string {
    const quote = this.#text[this.#at];
    if (quote === '"' || quote === "'") return this.#string(quote);
    return this.#match(BARE_KEY) ?? this.#fail("a key is missing");
  }

  #value(): Toml {
    const first = this.#text[this.#at];
    if (first === '"' || first === "'") {
      const triple = first.repeat(3);
      return this.#text.startsWith(triple, this.#at) ? this.#long(triple) : this.#string(first);
    }
    if (this.#next("[")) return this.#list();
    if (this.#next("{")) return this.#inline();
    return { bare: this.#match(BARE_VALUE) ?? this.#fail("a value is missing or wrong") };
  }

  #list(): Toml[] {
    const items: Toml[] = [];
    for (this.#space(); !this.#next("]"); this.#space()) {
      items.push(this.#value());
      this.#space();
      if (this.#next(",")) continue;
      this.#need("]");
      break;
    }
    return items;
  }

  #inline(): TomlTable {
    const table = new TomlTable();
    table.isDefined = true;
    for (this.#space(); !this.#next("}"); this.#space()) {
      this.#pair(table);
      this.#space();
      if (this.#next(",")) continue;
      this.#need("}");
      break;
    }
    table.isWhole = true;
    return table;
  }

  #string(quote: string): string {
    this.#at++;
    let read = "";
    for (;;) {
      const next = this.#text[this.#at];
      if (next === undefined || next === "\n") throw this.#wrong("a string is not closed");
      this.#at++;
      if (next === quote) return read;
      read += next === "\\" && quote === '"' ? this.#escape() : next;
    }
  }

  #long(triple: string): string {
    this.#at += triple.length;
    this.#next("\n");
    let read = "";
    for (;;) {
      if (this.#at >= this.#text.length) throw this.#wrong("a string is not closed");
      if (this.#text.startsWith(triple, this.#at)) {
        // Up to two quotes may stand before the closing ones.
        while (this.#text[this.#at + triple.length] === triple[0]) read += this.#text[this.#at++];
        this.#at += triple.length;
        return read;
      }
      const next = this.#text[this.#at++] as string;
      read += next === "\\" && triple[0] === '"' ? this.#lineOrEscape() : next;
    }
  }

  /** A backslash at the end of a line joins it with what follows. */
  #lineOrEscape(): string {
    const rest = /[ \t]*\n\s*/y;
    return this.#match(rest) === undefined ? this.#escape() : "";
  }

  #escape(): string {
    const letter = this.#text[this.#at++] ?? "";
    const digits = { u: 4, U: 8, x: 2 }[letter];
    if (digits === undefined) return ESCAPES[letter] ?? this.#fail(`"\\${letter}" is no escape`);
    const code = this.#text.slice(this.#at, this.#at + digits);
    if (
      !/^[0-9A-Fa-f]+$/.test(code) ||
      code.length < digits ||
      Number.parseInt(code, 16) > 0x10ffff
    ) {
      throw this.#wrong(`"\\${letter}${code}" is no character`);
    }
    this.#at += digits;
    return String.fromCodePoint(Number.parseInt(code, 16));
  }

  #lineEnd(): void {
    this.#blank();
    this.#match(COMMENT);
    if (this.#at < this.#text.length) this.#need("\n");
  }

  /** Blanks, line breaks and comments. */
  #space(): void {
    do {
      this.#match(/\s*/y);
    } while (this.#match(COMMENT) !== undefined);
  }

  #blank(): void {
    this.#match(BLANK);
  }

  #next(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  #need(token: string): void {
    if (!this.#next(token)) {
      throw this.#wrong(token === "\n" ? "something follows a value" : `"${token}" is missing`);
    }
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [];
    if (found === undefined || (found === "" && pattern === COMMENT)) return undefined;
    this.#at += found.length;
    return found;
  }

  #fail(why: string): never {
    throw this.#wrong(why);
  }

  #wrong(why: string): TomlError {
    const line = this.#text.slice(0, this.#at).split("\n").length;
    return new TomlError(`line ${line}: ${why}`);
  }
}

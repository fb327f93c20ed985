/**
 * Finds and masks a text in all forms in which it can occur in stored values: plain, or inside JSON that was
 * put into a string, once or twice, with or without escapes for characters outside ASCII.
 */

/** A text shorter than this can match inside a digest or id by chance, since those are long and random. */
const SHORT = 16;
const STRUCTURAL = /^(?:[0-9a-f]{64}|[a-z]{3}_[0-9a-f-]{36})$/;

/** Replaces the text. */
export const MASK = "[redacted]";

/** A text to redact. */
export class Secret {
  /** Forms inside a parsed string, longest first, because masking a short form could break a longer one. */
  readonly #forms: readonly string[];
  /** Forms in stored canonical JSON, and in the files of a store. */
  readonly stored: readonly string[];
  readonly #isShort: boolean;

  constructor(text: string) {
    this.#isShort = text.length < SHORT;
    const once = [text, ...jsonForms(text)];
    const forms = new Set([...once, ...once.flatMap(jsonForms)]);
    this.#forms = [...forms].sort((a, b) => b.length - a.length);
    this.stored = [...new Set([...forms, ...this.#forms.map(escaped)])];
  }

  /** Returns whether the text occurs in a string or number of a value; with `keys`, also in its keys. */
  isIn(value: unknown, { keys = false } = {}): boolean {
    if (typeof value === "string") return this.#matches(value);
    if (typeof value === "number") return this.#matches(String(value));
    if (typeof value !== "object" || value === null) return false;
    return Object.entries(value).some(
      ([key, item]) => (keys && this.#matches(key)) || this.isIn(item, { keys }),
    );
  }

  /** Returns the value with the text masked. */
  masked(value: unknown, { keys = false } = {}): unknown {
    if (typeof value === "string") return this.#masked(value);
    if (typeof value === "number") return this.#matches(String(value)) ? MASK : value;
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.masked(item, { keys }));
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        keys ? this.#masked(key) : key,
        this.masked(item, { keys }),
      ]),
    );
  }

  #matches(text: string): boolean {
    if (this.#isShort && STRUCTURAL.test(text)) return false;
    return this.#forms.some((form) => text.includes(form));
  }

  #masked(text: string): string {
    if (!this.#matches(text)) return text;
    return this.#forms.reduce((rest, form) => rest.replaceAll(form, MASK), text);
  }
}

/** Returns the forms in which JSON writers put a text into a string. */
function jsonForms(text: string): string[] {
  const plain = escaped(text);
  return [plain, plain.replaceAll("/", "\\/"), ascii(plain), ascii(plain).replaceAll("/", "\\/")];
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

const ascii = (text: string): string =>
  text.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

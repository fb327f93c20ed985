/**
 * Parses a Markdown document into entries: every bullet and every paragraph is one, with the lines that
 * belong to it. Headings give the type. Comments, rules and front matter (between `---` at the top) are not
 * entries.
 */

import { decodeLine } from "./encode-content.ts";
import { extractMarkers, type Marker } from "./marker.ts";

/** One entry of a document. */
export interface DocumentEntry {
  /** The line where it starts, counted from 1. */
  readonly line: number;
  /** The heading above it; empty before the first. */
  readonly heading: string;
  readonly content: string;
  readonly markers: readonly Marker[];
}

const HEADING = /^#{1,6}\s+/;
/** The marks with which some writers close a heading. */
const HEADING_END = /(?<!\s)\s+#+$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const BULLET = /^( ?(?:[-*+]|\d{1,9}[.)])\s+)(\S.*)$/;
const EMPTY_BULLET = /^ ?(?:[-*+]|\d{1,9}[.)])\s*$/;
const FENCE = /^\s*(```+|~~~+)/;

interface OpenEntry {
  readonly line: number;
  readonly bullet: boolean;
  /** The indentation of its continuation lines. */
  readonly indent: number;
  readonly lines: string[];
  readonly markers: Marker[];
}

/** Returns the entries of a document in order. */
export function parseDocument(text: string): DocumentEntry[] {
  return new Parser(
    text
      .replace(/^\ufeff/, "")
      .replaceAll("\r\n", "\n")
      .split("\n"),
  ).entries();
}

class Parser {
  readonly #lines: readonly string[];
  readonly #found: DocumentEntry[] = [];
  #open: OpenEntry | undefined;
  #heading = "";
  #blanks = 0;
  /** The fence that closes the current code block; undefined outside of one. */
  #fence: string | undefined;
  #comment = false;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  entries(): DocumentEntry[] {
    for (let i = endOfSettings(this.#lines); i < this.#lines.length; i++) {
      this.#read(this.#lines[i] ?? "", i + 1);
    }
    this.#close();
    return this.#found;
  }

  #read(line: string, number: number): void {
    if (this.#fence !== undefined) this.#code(line);
    else if (this.#comment || line.startsWith("<!--")) this.#skip(line);
    else if (line.trim() === "") this.#blanks++;
    else this.#text(line, number);
  }

  #text(line: string, number: number): void {
    const heading = HEADING.exec(line);
    const bullet = BULLET.exec(line);
    if (heading !== null) {
      this.#close();
      this.#heading = line.slice(heading[0].length).trimEnd().replace(HEADING_END, "");
    } else if (RULE.test(line) || EMPTY_BULLET.test(line)) {
      this.#close();
    } else if (bullet !== null) {
      const [, prefix = "", rest = ""] = bullet;
      this.#begin(number, { bullet: true, indent: prefix.length });
      this.#add(rest);
    } else if (this.#belongs(line)) {
      for (; this.#blanks > 0; this.#blanks--) this.#open?.lines.push("");
      this.#add(outdented(line, this.#open?.indent ?? 0));
    } else {
      this.#begin(number, { bullet: false, indent: 0 });
      this.#add(line);
    }
  }

  /**
   * Returns true if a line continues the open entry. After a blank line, only indented lines continue a
   * bullet, and nothing continues a paragraph.
   */
  #belongs(line: string): boolean {
    if (this.#open === undefined) return false;
    return this.#blanks === 0 || (this.#open.bullet && /^(?: {2}|\t)/.test(line));
  }

  #begin(line: number, how: Pick<OpenEntry, "bullet" | "indent">): void {
    this.#close();
    this.#open = { line, ...how, lines: [], markers: [] };
  }

  #add(line: string): void {
    const fence = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      this.#fence = fence;
      this.#open?.lines.push(line);
      return;
    }
    const { text, markers } = extractMarkers(line);
    this.#open?.lines.push(decodeLine(text));
    this.#open?.markers.push(...markers);
  }

  /** Keeps code unchanged, including what looks like Markdown in it. */
  #code(line: string): void {
    const text = outdented(line, this.#open?.indent ?? 0);
    this.#open?.lines.push(text);
    if (text.trim().startsWith(this.#fence ?? "```")) this.#fence = undefined;
  }

  #skip(line: string): void {
    if (!this.#comment) this.#close();
    this.#comment = !line.includes("-->");
  }

  #close(): void {
    const open = this.#open;
    this.#open = undefined;
    this.#blanks = 0;
    this.#fence = undefined;
    if (open === undefined) return;
    const { line, lines, markers } = open;
    const content = lines.join("\n");
    if (content.trim() === "" && markers.length === 0) return;
    this.#found.push({ line, heading: this.#heading, content, markers });
  }
}

function outdented(line: string, indent: number): string {
  const [spaces = ""] = /^ */.exec(line) ?? [];
  return line.slice(Math.min(spaces.length, indent));
}

/** Returns the index after the front matter; 0 if there is none. */
function endOfSettings(lines: readonly string[]): number {
  if (lines[0]?.trim() !== "---") return 0;
  const end = lines.findIndex((line, i) => i > 0 && line.trim() === "---");
  return end < 0 ? 0 : end + 1;
}

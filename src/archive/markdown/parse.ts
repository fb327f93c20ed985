/**
 * A document as entries: every bullet and every paragraph is one, with all that belongs to it.
 * Headings say of which type they are. Comments, rules and a block of settings at the top (between
 * `---`) are no entries.
 */

import { decodeLine } from "./encode-content.ts";
import { extractMarkers, type Marker } from "./marker.ts";

export interface DocumentEntry {
  /** Where it begins, counted from 1. */
  readonly line: number;
  /** The heading it stands under; empty before the first. */
  readonly heading: string;
  readonly content: string;
  readonly markers: readonly Marker[];
}

const HEADING = /^#{1,6}\s+(.*?)(?:\s+#+)?\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const BULLET = /^( ?(?:[-*+]|\d{1,9}[.)])\s+)(\S.*)$/;
const EMPTY_BULLET = /^ ?(?:[-*+]|\d{1,9}[.)])\s*$/;
const FENCE = /^\s*(```+|~~~+)/;

interface OpenEntry {
  readonly line: number;
  readonly bullet: boolean;
  /** How far what belongs to it is indented. */
  readonly indent: number;
  readonly lines: string[];
  readonly markers: Marker[];
}

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
  /** What closes the block of code we are in. */
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
      this.#heading = heading[1] ?? "";
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

  /** After a blank line only what is indented belongs to a bullet, and nothing to a paragraph. */
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

  /** Code stands as it is, also what looks like Markdown in it. */
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

/** The line after settings at the top; 0 when there are none. */
function endOfSettings(lines: readonly string[]): number {
  if (lines[0]?.trim() !== "---") return 0;
  const end = lines.findIndex((line, i) => i > 0 && line.trim() === "---");
  return end < 0 ? 0 : end + 1;
}

/**
 * A disk that loses power: replays recorded calls and produces the states that a power cut could leave.
 *
 * A page of a file that was written and not synced is on the disk in any of its versions since the last sync,
 * or torn between two of them at a sector; pages are independent of each other, so that later writes can
 * arrive without earlier ones. The same holds for the size of a file. After a sync that failed, the system
 * counts the pages as written (as Linux does): later syncs do not cover them, until they are written again.
 * The size is metadata, which stays to be written until a sync succeeds. A truncation is one step of the file
 * system's journal: a crash leaves the file of before or of after it, never a mixture. Names in a folder
 * (created, renamed, deleted) reach the disk in order, and for certain only when the folder is synced.
 */
import { constants, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../../support/random.ts";
import type { Call } from "./recording.ts";

const PAGE = 4096;
const SECTOR = 512;

/** What may be on the disk: the first is certain after a crash at the earliest, the last is in memory. */
class Versions<T> {
  #all: T[];
  #dirty = false;

  constructor(first: T) {
    this.#all = [first];
  }

  get last(): T {
    return this.#all.at(-1) as T;
  }

  clone(): Versions<T> {
    const copy = new Versions(this.last);
    copy.#all = [...this.#all];
    copy.#dirty = this.#dirty;
    return copy;
  }

  set(value: T): void {
    this.#all.push(value);
    this.#dirty = true;
  }

  sync(failed: boolean): void {
    if (this.#dirty && !failed) this.#all = [this.last];
    this.#dirty = false;
  }

  get isCertain(): boolean {
    return this.#all.length === 1;
  }

  afterCrash(random: Random, loss: Loss): T {
    if (loss === "all") return this.#all[0] as T;
    if (loss === "nothing") return this.last;
    return this.#all[random.below(this.#all.length)] as T;
  }
}

/** How a file fares in a crash: all that is not synced is lost, nothing is, or each page by chance. */
type Loss = "all" | "nothing" | "some";

/** The pages and the size of a file between two truncations. */
class Content {
  readonly #pages = new Map<number, Versions<Buffer>>();
  #size = new Versions(0);
  /** Pages that changed since the last sync. */
  readonly #changed = new Set<number>();

  get size(): number {
    return this.#size.last;
  }

  write(offset: number, data: Buffer): void {
    for (let done = 0; done < data.length; ) {
      const [page, start] = [Math.floor((offset + done) / PAGE), (offset + done) % PAGE];
      const part = data.subarray(done, done + PAGE - start);
      this.#changePage(page, (bytes) => part.copy(bytes, start));
      done += part.length;
    }
    this.extend(offset + data.length);
  }

  extend(size: number): void {
    if (size > this.#size.last) this.#size.set(size);
  }

  truncated(size: number): Content {
    const content = new Content();
    content.#size = new Versions(size);
    for (const [page, versions] of this.#pages) {
      if (page * PAGE >= size) continue;
      content.#pages.set(page, versions.clone());
      if (this.#changed.has(page)) content.#changed.add(page);
      if ((page + 1) * PAGE > size)
        content.#changePage(page, (bytes) => bytes.fill(0, size - page * PAGE));
    }
    return content;
  }

  sync(failed: boolean): void {
    for (const page of this.#changed) this.#pages.get(page)?.sync(failed);
    this.#changed.clear();
    if (!failed) this.#size.sync(failed);
  }

  afterCrash(random: Random, loss: Loss): Buffer {
    const bytes = Buffer.alloc(this.#size.afterCrash(random, loss));
    for (const [page, versions] of this.#pages) {
      if (page * PAGE >= bytes.length) continue;
      versions.afterCrash(random, loss).copy(bytes, page * PAGE);
      if (versions.isCertain || loss !== "some" || random.chance(0.7)) continue;
      const cut = SECTOR * (1 + random.below(PAGE / SECTOR - 1));
      versions.afterCrash(random, loss).copy(bytes, page * PAGE + cut, cut);
    }
    return bytes;
  }

  #changePage(page: number, change: (bytes: Buffer) => void): void {
    const versions = this.#pages.get(page) ?? new Versions(Buffer.alloc(PAGE));
    this.#pages.set(page, versions);
    const bytes = Buffer.from(versions.last);
    change(bytes);
    versions.set(bytes);
    this.#changed.add(page);
  }
}

class DiskFile {
  /** The content in memory, and those before each truncation that is not synced. */
  #contents = [new Content()];

  get #current(): Content {
    return this.#contents.at(-1) as Content;
  }

  write(offset: number, data: Buffer): void {
    this.#current.write(offset, data);
  }

  truncate(size: number): void {
    if (size < this.#current.size) this.#contents.push(this.#current.truncated(size));
    else this.#current.extend(size);
  }

  sync(failed: boolean): void {
    this.#current.sync(failed);
    if (!failed) this.#contents = [this.#current];
  }

  afterCrash(random: Random): Buffer {
    const loss = random.pick<Loss>(["all", "nothing", "some", "some", "some"]);
    const chosen = { all: 0, nothing: -1, some: random.below(this.#contents.length) }[loss];
    return (this.#contents.at(chosen) as Content).afterCrash(random, loss);
  }
}

type Names = Map<string, DiskFile | DiskFolder>;
type NameChange = (names: Names) => void;

class DiskFolder {
  readonly names: Names = new Map();
  readonly #synced: Names = new Map();
  #pending: NameChange[] = [];

  change(change: NameChange): void {
    change(this.names);
    this.#pending.push(change);
  }

  sync(failed: boolean): void {
    if (failed) return;
    for (const change of this.#pending) change(this.#synced);
    this.#pending = [];
  }

  /** Writes what a power cut leaves into a real folder. */
  afterCrash(random: Random, folder: string): void {
    const names = new Map(this.#synced);
    for (const change of this.#pending.slice(0, random.below(this.#pending.length + 1)))
      change(names);
    mkdirSync(folder, { recursive: true });
    for (const [name, entry] of names) {
      const path = join(folder, name);
      if (entry instanceof DiskFolder) entry.afterCrash(random, path);
      else writeFileSync(path, entry.afterCrash(random));
    }
  }
}

/** The disk below one folder, which exists from the beginning. */
export class Disk {
  readonly #root = new DiskFolder();
  readonly #rootPath: string;
  readonly #open = new Map<number, DiskFile | DiskFolder>();

  constructor(rootPath: string) {
    this.#rootPath = rootPath;
  }

  /** Replays one call. Calls elsewhere are ignored. */
  replay(call: Call): void {
    const entry = this.#open.get(call.fd);
    if (call.fd < 0) this.#changeNames(call);
    else if (call.kind === "open") this.#opened(call);
    else if (call.kind === "close") this.#open.delete(call.fd);
    else if (call.kind === "sync") entry?.sync(call.error !== 0);
    else if (!(entry instanceof DiskFile)) return;
    else if (call.kind === "write") entry.write(call.offset, call.data);
    else if (call.error === 0) entry.truncate(call.offset);
  }

  /** Writes what a power cut at this moment could leave into a real folder. */
  afterCrash(random: Random, folder: string): void {
    this.#root.afterCrash(random, folder);
  }

  #opened({ fd, flags, data }: Call): void {
    this.#open.delete(fd);
    const path = data.toString();
    if (path === this.#rootPath) this.#open.set(fd, this.#root);
    const place = this.#placeOf(path);
    if (place === undefined) return;
    const { folder, name } = place;
    if (!folder.names.has(name)) {
      const created = new DiskFile();
      folder.change((names) => names.set(name, created));
    }
    const entry = folder.names.get(name) as DiskFile | DiskFolder;
    if ((flags & constants.O_TRUNC) !== 0) (entry as DiskFile).truncate(0);
    this.#open.set(fd, entry);
  }

  #changeNames({ kind, data }: Call): void {
    const [from = "", to = ""] = data.toString().split("\0");
    const place = this.#placeOf(from);
    if (place === undefined) return;
    const { folder, name } = place;
    const target = this.#placeOf(to);
    if (target !== undefined && target.folder !== folder) throw new Error(`moved to ${to}`);
    const made = new DiskFolder();
    folder.change((names) => {
      const entry = names.get(name);
      if (kind === "make-folder") names.set(name, made);
      else if (target !== undefined && entry !== undefined) names.set(target.name, entry);
      if (kind === "unlink" || kind === "rename") names.delete(name);
    });
  }

  #placeOf(path: string): { readonly folder: DiskFolder; readonly name: string } | undefined {
    if (!path.startsWith(`${this.#rootPath}/`)) return undefined;
    const parts = path.slice(this.#rootPath.length + 1).split("/");
    const name = parts.pop() as string;
    let folder: DiskFolder | DiskFile | undefined = this.#root;
    for (const part of parts) folder = (folder as DiskFolder | undefined)?.names.get(part);
    return folder instanceof DiskFolder ? { folder, name } : undefined;
  }
}

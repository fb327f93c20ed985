/**
 * A workspace setting that every send needs: read from the store at most once a second for each hub. A
 * change in this hub counts at once, one in another process within a second.
 */
import type { Workspace } from "./workspace.ts";

const CACHED_MS = 1_000;

interface Cached<T> {
  readonly value: Promise<T>;
  readonly at: number;
}

export class SettingCache<T> {
  readonly #read: (workspace: Workspace) => Promise<T>;
  readonly #cached = new WeakMap<object, Cached<T>>();

  constructor(read: (workspace: Workspace) => Promise<T>) {
    this.#read = read;
  }

  get(workspace: Workspace): Promise<T> {
    const { root } = workspace;
    const cached = this.#cached.get(root);
    if (cached !== undefined && performance.now() - cached.at < CACHED_MS) return cached.value;
    const value = this.#read(workspace);
    const reading = { value, at: performance.now() };
    this.#cached.set(root, reading);
    // A failed read is not kept: the next send reads again.
    value.catch(() => {
      if (this.#cached.get(root) === reading) this.#cached.delete(root);
    });
    return value;
  }

  set({ root }: Workspace, value: T): void {
    this.#cached.set(root, { value: Promise.resolve(value), at: performance.now() });
  }
}

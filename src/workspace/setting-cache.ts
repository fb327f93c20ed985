/**
 * Caches a workspace setting that every send needs: each hub reads it from the store at most once a second. A
 * change in this hub takes effect immediately, one in another process within a second.
 */
import type { Workspace } from "./workspace.ts";

const CACHED_MS = 1_000;

interface Cached<T> {
  readonly value: Promise<T>;
  readonly at: number;
}

/** A cached setting of type `T`. */
export class SettingCache<T> {
  readonly #read: (workspace: Workspace) => Promise<T>;
  readonly #cached = new WeakMap<object, Cached<T>>();

  constructor(read: (workspace: Workspace) => Promise<T>) {
    this.#read = read;
  }

  /** Returns the setting, from the cache if it was read within the last second. */
  get(workspace: Workspace): Promise<T> {
    const { root } = workspace;
    const cached = this.#cached.get(root);
    if (cached !== undefined && performance.now() - cached.at < CACHED_MS) return cached.value;
    const value = this.#read(workspace);
    const reading = { value, at: performance.now() };
    this.#cached.set(root, reading);
    // A failed read is not cached: the next send reads again.
    value.catch(() => {
      if (this.#cached.get(root) === reading) this.#cached.delete(root);
    });
    return value;
  }

  /** Replaces the cached value after this hub has changed the setting. */
  set({ root }: Workspace, value: T): void {
    this.#cached.set(root, { value: Promise.resolve(value), at: performance.now() });
  }
}

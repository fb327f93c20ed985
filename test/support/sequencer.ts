/**
 * The order of test files: the longest first, so that no worker is left with one at the end. Vitest
 * sorts by size, and the contract's files are small: their tests are in store-contract/.
 * `--sequence.shuffle` still shuffles.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { randomFrom } from "./random.ts";

const LONG = /contract\.test\.ts$/;

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { shuffle, seed } = this.ctx.config.sequence;
    if (shuffle) {
      const random = randomFrom(seed);
      return files
        .map((file) => ({ file, place: random.next() }))
        .sort((one, other) => one.place - other.place)
        .map(({ file }) => file);
    }
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

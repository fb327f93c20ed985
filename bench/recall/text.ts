/**
 * Text with a natural distribution of words: English words in the order of their frequency, the n-th
 * about 1/n as frequent as the first, and topics, so that words come together as they do. From a seed:
 * two runs have the same records and the same questions.
 */
import { readFileSync } from "node:fs";
import { readWordFile } from "../../src/search/embedding/word-file.ts";
import { randomFrom } from "../../test/support/random.ts";

const TOPICS = 3_000;
const TOPIC_WORDS = 60;
/** The share of words a text takes from its topic. */
const ON_TOPIC = 0.45;

export interface Corpus {
  /** About so many bytes. */
  record(bytes: number): { readonly text: string; readonly topic: number };
  /** Some words of a text, rare and frequent ones, as somebody would ask who half remembers it. */
  question(text: string): string;
  readonly random: () => number;
}

export function corpus(seed: number): Corpus {
  const random = randomFrom(seed).next;
  const words = vocabulary();
  const frequent = zipf(words.length, random);
  const topics = Array.from({ length: TOPICS }, () =>
    // The words of a topic are neither the most frequent nor the rarest.
    Array.from(
      { length: TOPIC_WORDS },
      () => 200 + (Math.floor(frequent() * 0.98) % (words.length - 200)),
    ),
  );
  const topical = zipf(TOPIC_WORDS, random);
  return {
    random,
    record(bytes) {
      const topic = Math.floor(random() * TOPICS);
      const own = topics[topic] as number[];
      const said: string[] = [];
      for (let length = 0; length < bytes; ) {
        const word = words[random() < ON_TOPIC ? (own[topical()] as number) : frequent()] as string;
        said.push(word);
        length += word.length + 1;
      }
      return { text: `${said.join(" ")}.`, topic };
    },
    question(text) {
      const all = text.replace(".", "").split(" ");
      const count = 4 + Math.floor(random() * 5);
      const taken = Array.from({ length: count }, () => all[Math.floor(random() * all.length)]);
      return `what about ${taken.join(" ")}?`;
    },
  };
}

/** Places from 0, the first the most likely: by the inverse of the sum of 1/n. */
function zipf(size: number, random: () => number): () => number {
  const sums = new Float64Array(size);
  let sum = 0;
  for (let n = 0; n < size; n++) {
    sum += 1 / (n + 2.7);
    sums[n] = sum;
  }
  return () => {
    const wanted = random() * sum;
    let low = 0;
    let high = size - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as number) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** The words of the bundled table, the most frequent first. */
function vocabulary(): string[] {
  const bytes = readFileSync(new URL("../../src/search/embedding/words.bin", import.meta.url));
  const { buffer, byteOffset, length } = bytes;
  const { words, starts, text } = readWordFile(buffer.slice(byteOffset, byteOffset + length));
  return Array.from({ length: words }, (_, n) =>
    Buffer.from(text.subarray(starts[n], starts[n + 1])).toString("latin1"),
  );
}

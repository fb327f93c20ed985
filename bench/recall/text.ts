/**
 * Generates text with a natural distribution of words: English words in order of frequency, the
 * n-th about 1/n as frequent as the first, and topics, so that words co-occur as in real text. The
 * same seed gives the same records and questions.
 */
import { readFileSync } from "node:fs";
import { readWordFile } from "../../src/search/embedding/word-file.ts";
import { randomFrom } from "../../test/support/random.ts";

const TOPICS = 3_000;
const TOPIC_WORDS = 60;
/** The share of words a text takes from its topic. */
const ON_TOPIC = 0.45;

export interface Corpus {
  /** Returns a record of about `bytes` bytes. */
  record(bytes: number): { readonly text: string; readonly topic: number };
  /** Returns a question with some words of a text, rare and frequent, as if half remembered. */
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
      const chosen: string[] = [];
      for (let length = 0; length < bytes; ) {
        const word = words[random() < ON_TOPIC ? (own[topical()] as number) : frequent()] as string;
        chosen.push(word);
        length += word.length + 1;
      }
      return { text: `${chosen.join(" ")}.`, topic };
    },
    question(text) {
      const all = text.replace(".", "").split(" ");
      const count = 4 + Math.floor(random() * 5);
      const taken = Array.from({ length: count }, () => all[Math.floor(random() * all.length)]);
      return `what about ${taken.join(" ")}?`;
    },
  };
}

/** Draws ranks from 0 by Zipf's law (rank 0 is most likely), by inverting the sum of 1/n. */
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

/** Returns the words of the bundled table, most frequent first. */
function vocabulary(): string[] {
  const bytes = readFileSync(new URL("../../src/search/embedding/words.bin", import.meta.url));
  const { buffer, byteOffset, length } = bytes;
  const { words, starts, text } = readWordFile(buffer.slice(byteOffset, byteOffset + length));
  return Array.from({ length: words }, (_, n) =>
    Buffer.from(text.subarray(starts[n], starts[n + 1])).toString("latin1"),
  );
}

/** Draws the values of one task. Each is used once, and none contains another. */

import type { Random } from "../../../test/support/random.ts";
import type { Pools } from "./world.ts";

const SLOT = /\[(\w+)(?:=([^\]]+))?\]/g;
const CHOICE = /\{([^{}]*)\}/g;
const RANGE = /^(\d+)\.\.(\d+)(?:\/(\d+))?$/;
const HOURS = /^time (\d+)-(\d+)$/;
const MAX_ATTEMPTS = 400;

const MONTHS: readonly string[] = ["February", "March", "April", "September", "October"];

const COMMON: Pools = {
  person: [
    "Oddvar",
    "Perpetua",
    "Iolanthe",
    "Casimira",
    "Thaddea",
    "Wystan",
    "Eulalia",
    "Hjalmar",
    "Zenobia",
    "Ludovica",
    "Ottoline",
    "Radomir",
    "Sunniva",
    "Torquil",
    "Ysolde",
    "Barnabo",
    "Melisande",
    "Gudrun",
    "Leofric",
    "Philomena",
    "Aurelio",
    "Brunhild",
    "Cosimo",
    "Desdemona",
    "Evander",
    "Fiorella",
    "Gwendolen",
    "Isambard",
    "Kazimir",
    "Lavinia",
    "Mortimer",
    "Nerys",
    "Orsolya",
    "Peregrine",
    "Quirin",
    "Rosalba",
    "Sigismund",
    "Tancred",
    "Ursula-Jo",
    "Valborg",
  ],
  day: ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"],
  colour: ["violet", "ochre", "turquoise", "magenta", "maroon", "olive"],
};

/** Fills the slots of texts; within one scope a slot keeps its value. */
export class Values {
  readonly #random: Random;
  readonly #pools: Pools;
  readonly #used: string[] = [];

  constructor(random: Random, pools: Pools) {
    this.#random = random;
    this.#pools = { ...COMMON, ...pools };
  }

  fill(text: string, scope: Map<string, string>): string {
    const worded = withChoices(text, this.#random);
    return worded.replace(SLOT, (_, name: string, spec: string | undefined) => {
      const known = scope.get(name);
      if (known !== undefined) return known;
      const value = this.#fresh(spec ?? name.replace(/\d$/, ""));
      scope.set(name, value);
      return value;
    });
  }

  #fresh(spec: string): string {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const value = this.#draw(spec);
      if (this.#used.some((other) => overlap(value, other))) continue;
      this.#used.push(value);
      return value;
    }
    throw new Error(`No unused value left for "${spec}"`);
  }

  #draw(spec: string): string {
    const range = RANGE.exec(spec);
    if (range) return String(this.#numberIn(range));
    const hours = HOURS.exec(spec);
    if (hours) return this.#timeIn(hours);
    if (spec === "date") return this.#date();
    return pickFrom(this.#pools[spec] ?? [], this.#random);
  }

  #numberIn(range: RegExpExecArray): number {
    const low = Number(range[1]);
    const step = Number(range[3] ?? 1);
    const count = Math.floor((Number(range[2]) - low) / step) + 1;
    return low + step * this.#random.below(count);
  }

  #timeIn(hours: RegExpExecArray): string {
    const low = Number(hours[1]);
    const hour = low + this.#random.below(Number(hours[2]) - low + 1);
    const minute = 5 + 5 * this.#random.below(11);
    return `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
  }

  #date(): string {
    return `${11 + this.#random.below(18)} ${pickFrom(MONTHS, this.#random)}`;
  }
}

/** Chooses a wording for every `{a|b}` of a text. */
export function withChoices(text: string, random: Random): string {
  return text.replace(CHOICE, (_, inner: string) => pickFrom(inner.split("|"), random));
}

export function pickFrom<Value>(values: readonly Value[], random: Random): Value {
  const value = values[random.below(values.length)];
  if (value === undefined) throw new Error("Cannot pick from an empty list");
  return value;
}

export function shuffled<Value>(values: readonly Value[], random: Random): Value[] {
  const keyed = values.map((value) => ({ value, at: random.next() }));
  return keyed.sort((a, b) => a.at - b.at).map(({ value }) => value);
}

/** Returns whether one text contains the other as whole words. */
function overlap(one: string, other: string): boolean {
  const [a, b] = [` ${one} `, ` ${other} `];
  return a.includes(b) || b.includes(a);
}

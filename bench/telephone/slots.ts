/**
 * Draws the values of a task: people, places, products, numbers, days. Each value is used once per
 * task, so that a key word identifies one item. Numbers in logs and small talk have other lengths
 * (tasks.ts), so that none of them answers a question by accident.
 */
import type { Random } from "../../test/support/random.ts";

const list = (words: string): string[] => words.trim().split(/\s+/);

const PEOPLE =
  list(`Anneke Bartosz Chiara Dinesh Eluned Farouk Gudrun Hamish Ileana Jarmila Kofi Lucinda
  Mehmet Nadezhda Oskari Parvati Quentin Ragnhild Soledad Takumi Ulrike Vasco Wilhelmina Xiomara Yannick
  Zuzana Abimbola Benedikt Corentin Dagny Emeka Fionnuala Giorgos Henrike Isidora Joaquim Katarzyna Leopold
  Marisol Nikhil Ottoline Piotr Rosalind Sanjay Thandiwe Umberto Violeta Wojciech Yevgenia Zoltan`);
const PLACES =
  list(`Aalborg Bergamo Coimbra Debrecen Exeter Freiburg Groningen Halden Innsbruck Jerez Kosice
  Ljubljana Maribor Nantes Odense Plovdiv Rouen Salzburg Tartu Uppsala Verona Wexford Ypres Zadar Aveiro
  Bruges Cork Dijon Espoo Funchal Ghent Hasselt Ioannina Kaunas Lugano Malmo Narvik Oulu Pecs Riga`);
const TOOLS =
  list(`Korvane Lumafold Quillback Tessaro Brindlewick Oxbowly Pallion Veridex Mossgate Cindral
  Harrowfin Jettison Novaspool Drayline Ferncast Glimward Sablequay Tanagra Underlay Wickstead Yarrowbit
  Zephyros Amberloch Birchrun Copperay Dovetide Elmsworth Foxglade Gannetry Hollowby Inkstone Juniperon
  Kestrelix Larkmoor Mirefold Nettleby Osprine Peregrow Quartzen Rookhaven Starlume Thistledo Ullswift
  Vesperal Willowark Yewbridge Ashmere Bramblon Curlewis Dunmarrow`);
const TEAMS =
  list(`Bluebird Cartwheel Driftwood Evergreen Foxtrot Gatehouse Hawthorn Ironbark Jackdaw
  Kingfisher Lighthouse Millstone Nightjar Orchard Pinecone Quicksilver`);
const MONTHS = list(`January February March April June July August September October December`);
const NOUNS = list(`ledger rates parts totals roster consent checks limits torque sizes seeds routes
  bounds quotas forms counts`);
const VERBS = list(
  `resolve settle derive convert validate merge publish confirm allocate reconcile`,
);
const OBJECTS = list(`Charge Quote Mandate Receipt Balance Voucher Tariff Batch Claim Token`);

/** Fills in `$slots`: the same values in all texts of one call, new ones in the next call. */
export interface Slots {
  fill(texts: readonly string[]): string[];
}

export function slotsFrom(random: Random): Slots {
  const used = new Set<string>();
  const fresh = (make: () => string): string => {
    for (;;) {
      const value = make();
      if (used.has(value)) continue;
      used.add(value);
      return value;
    }
  };
  const any = (words: readonly string[]): string => words[random.below(words.length)] as string;
  const number = (from: number, to: number): string => String(from + random.below(to - from));
  const makers: Record<string, () => string> = {
    person: () => any(PEOPLE),
    place: () => any(PLACES),
    tool: () => any(TOOLS),
    team: () => `team ${any(TEAMS)}`,
    fn: () => `${any(VERBS)}${any(OBJECTS)}`,
    version: () => `${number(2, 9)}.${number(10, 40)}.${number(0, 9)}`,
    hour: () => `${number(1, 12)}:${number(1, 6)}5 ${random.chance(0.5) ? "pm" : "am"}`,
    small: () => number(11, 98),
    large: () => `${number(11, 98)}${number(1, 10)}0`,
    port: () => number(5001, 9999),
    code: () => `${any(NOUNS)}-${number(1, 10)}${any(["k", "q", "w", "x"])}${number(1, 10)}`,
    day: () => `${number(2, 29)} ${any(MONTHS)}`,
    file: () => `${any(NOUNS)}-${any(["v2", "final", "base", "2025", "master"])}.csv`,
  };
  return {
    fill(texts) {
      const values = new Map<string, string>();
      const drawn = (slot: string): string => {
        const kind = slot.replace(/\d+$/, "");
        const maker = makers[kind];
        if (maker === undefined) throw new Error(`Unknown slot $${slot}`);
        const value = values.get(slot) ?? fresh(maker);
        values.set(slot, value);
        return value;
      };
      return texts.map((text) => text.replace(/\$([a-z]+\d*)/g, (_, slot: string) => drawn(slot)));
    },
  };
}

/** Chooses a wording for every `{a|b}`, innermost first. */
export function worded(text: string, random: Random): string {
  let result = text;
  for (;;) {
    const next = result.replace(/\{([^{}]*)\}/g, (_, choices: string) => {
      const ways = choices.split("|");
      return ways[random.below(ways.length)] as string;
    });
    if (next === result) return result;
    result = next;
  }
}

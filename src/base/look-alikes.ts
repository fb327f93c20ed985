/**
 * Compares names by how they look: agents, roles and channels with names that people and models confuse would
 * route work to the wrong one. Two names look alike if they differ only in case, in the Unicode form (full
 * width, ligatures), in letters of other alphabets that look the same (Cyrillic а, Greek ο), in 0 and o, or in
 * 1, l and a capital I. Pairs of letters (rn and m) and accents are not compared.
 */

/** Letters and digits in lower case, each with the Latin letter that it looks like. */
const LOWER: Readonly<Record<string, string>> = pairsOf([
  // Cyrillic, including letters whose capital looks like a Latin capital.
  "аa вb сc ԁd еe ԍg нh һh іi јj кk ӏl мm оo рp ԛq гr ѕs тt ѵv уy үy ԝw хx",
  // Greek; final sigma as sigma.
  "αa βb εe ιi κk ηn οo ρp τt υu νv ωw χx γy ςo σo",
  // Armenian, and Latin letters of phonetic alphabets.
  "օo սu ոn հh ցg ɑa ɡg ɩi",
  "0o 1l",
]);

/** Capitals that look like a Latin capital, although their small letter looks like another letter. */
const UPPER: Readonly<Record<string, string>> = pairsOf([
  "ΑA ΒB ΕE ΖZ ΗH ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX",
  // Latin, Greek and Cyrillic capital I, which looks like a small l.
  "Il Ιl Іl",
]);

/** Reads pairs: a letter, followed by the one that it looks like. */
function pairsOf(lines: readonly string[]): Readonly<Record<string, string>> {
  const pairs = lines.join(" ").split(" ");
  return Object.fromEntries(pairs.map((pair) => Array.from(pair) as [string, string]));
}

/** Letters without ink, and the dot that remains of a Turkish capital I. */
const INVISIBLE = /[\u0307\u115f\u1160\u3164\p{Default_Ignorable_Code_Point}]/gu;

/** The most names whose forms are kept. */
const MAX_KEPT = 10_000;
const kept = new Map<string, readonly string[]>();

/** Returns the form of a name that is the same for names that look alike, read in small letters and in capitals. */
function formsOf(name: string): readonly string[] {
  const known = kept.get(name);
  if (known !== undefined) return known;
  const text = name.normalize("NFKC").replace(INVISIBLE, "");
  const forms = [...new Set([text, replaceBy(UPPER, text)].map(foldedForm))];
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(name, forms);
  return forms;
}

/** Folds the case in both directions, because ß and ſ have only a capital in common with what they equal. */
const foldedForm = (text: string): string =>
  replaceBy(LOWER, text.toUpperCase().toLowerCase().replace(INVISIBLE, ""));

const replaceBy = (table: Readonly<Record<string, string>>, text: string): string =>
  Array.from(text, (char) => table[char] ?? char).join("");

/** Returns whether two names look alike; true for equal names. */
export function looksLike(one: string, other: string): boolean {
  const forms = formsOf(other);
  return formsOf(one).some((form) => forms.includes(form));
}

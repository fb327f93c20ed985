/** Explains in words why a memory matched: the parts of its score, the largest first. */
import type { QueryTerm } from "../../search/query.ts";
import type { SearchHit } from "../../store/search.ts";

/** Parts below this share of the score are not mentioned. */
const MIN_REASON_SHARE = 0.05;

/** Returns the reasons of a hit, as clauses with the memory as subject. */
export function reasonsOf(hit: SearchHit, terms: readonly QueryTerm[]): string[] {
  const { parts, supersededBy } = hit;
  const quoted = (places: readonly number[], near: boolean): string =>
    places
      .flatMap((place) => terms[place] ?? [])
      .filter((term) => term.weight < 1 === near)
      .map((term) => `"${term.word}"`)
      .join(", ");
  const exact = quoted(hit.matchedTerms, false);
  const alike = quoted(hit.matchedTerms, true);
  const neighbours = quoted(hit.neighbourTerms, false) || quoted(hit.neighbourTerms, true);
  const reasons: [number, string][] = [
    [parts.words + parts.pairs, exact === "" ? `contains ${alike}` : `contains ${exact}`],
    [exact === "" || alike === "" ? 0 : parts.words / 4, `contains similar words: ${alike}`],
    [parts.author, "is by an agent the question names"],
    [parts.date, "is from the time the question names"],
    [parts.time, "states a time"],
    [parts.near, `is next to ${hit.nearest ?? "a record"}, which contains ${neighbours}`],
    [parts.session, "is from a session about this"],
    [parts.graph, connection(hit)],
    [parts.meaning, `similar meaning (${(hit.similarity ?? 0).toFixed(2)})`],
  ];
  const sum = reasons.reduce((all, [weight]) => all + weight, 0);
  const texts = reasons
    .filter(([weight]) => weight > 0 && weight >= sum * MIN_REASON_SHARE)
    .sort((a, b) => b[0] - a[0])
    .map(([, reason]) => reason);
  return supersededBy.length === 0
    ? texts
    : [`was superseded by ${supersededBy.join(", ")}`, ...texts];
}

function connection({ connected }: SearchHit): string {
  if (connected === undefined) return "is related to another hit";
  const { kind, id } = connected;
  return kind === "supersedes" || kind === "corrects"
    ? `${kind} ${id}, which also matched`
    : `is related (${kind}) to ${id}`;
}

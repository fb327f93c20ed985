/** Why a memory was found, in words: what its score is made of, the largest part first. */
import type { QueryTerm } from "../../search/query.ts";
import type { SearchHit } from "../../store/search.ts";

/** Parts smaller than this share of the score are not worth a word. */
const MIN_REASON_SHARE = 0.05;

export function reasonsOf(hit: SearchHit, terms: readonly QueryTerm[]): string[] {
  const { parts, supersededBy } = hit;
  const quoted = (places: readonly number[], near: boolean): string =>
    places
      .flatMap((place) => terms[place] ?? [])
      .filter((term) => term.weight < 1 === near)
      .map((term) => `"${term.word}"`)
      .join(", ");
  const said = quoted(hit.said, false);
  const alike = quoted(hit.said, true);
  const heard = quoted(hit.heard, false) || quoted(hit.heard, true);
  const reasons: [number, string][] = [
    [parts.words + parts.pairs, said === "" ? `says ${alike}` : `says ${said}`],
    [said === "" || alike === "" ? 0 : parts.words / 4, `and the like: ${alike}`],
    [parts.author, "is by whom the question names"],
    [parts.date, "is of the time the question names"],
    [parts.time, "tells a time"],
    [parts.near, `stands beside ${hit.nearest ?? "a record"}, which says ${heard}`],
    [parts.session, "its session is about this"],
    [parts.graph, connection(hit)],
    [parts.meaning, `means something alike (${(hit.similarity ?? 0).toFixed(2)})`],
  ];
  const sum = reasons.reduce((all, [weight]) => all + weight, 0);
  const told = reasons
    .filter(([weight]) => weight > 0 && weight >= sum * MIN_REASON_SHARE)
    .sort((a, b) => b[0] - a[0])
    .map(([, reason]) => reason);
  return supersededBy.length === 0
    ? told
    : [`was superseded by ${supersededBy.join(", ")}`, ...told];
}

function connection({ connected }: SearchHit): string {
  if (connected === undefined) return "is connected";
  const { kind, id } = connected;
  return kind === "supersedes" || kind === "corrects"
    ? `${kind} ${id}, which was found`
    : `is connected (${kind}) with ${id}`;
}

/** Compares two heap snapshots of V8 by constructor. */

interface Snapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: string[]; readonly node_types: [string[]] };
  };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

/** The objects of one constructor; other nodes are grouped by their kind, as in "(string)". */
export interface Growth {
  readonly name: string;
  /** How many more there are in the second snapshot. */
  readonly count: number;
  /** Bytes of the objects themselves, without what they refer to. */
  readonly bytes: number;
}

/** Returns what grew from one snapshot to the other, the most bytes first. */
export function heapGrowth(before: string, after: string, most: number): Growth[] {
  const [first, second] = [sizes(before), sizes(after)];
  const grown = [...second].map(([name, { count, bytes }]) => ({
    name,
    count: count - (first.get(name)?.count ?? 0),
    bytes: bytes - (first.get(name)?.bytes ?? 0),
  }));
  return grown.sort((a, b) => b.bytes - a.bytes).slice(0, most);
}

function sizes(json: string): Map<string, { count: number; bytes: number }> {
  const { snapshot, nodes, strings } = JSON.parse(json) as Snapshot;
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [type, name, size] = ["type", "name", "self_size"].map((field) => fields.indexOf(field));
  const result = new Map<string, { count: number; bytes: number }>();
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = types[0][nodes[at + (type as number)] as number] ?? "";
    const named = kind === "object" || kind === "native";
    const key = named ? (strings[nodes[at + (name as number)] as number] ?? "") : `(${kind})`;
    const sum = result.get(key) ?? { count: 0, bytes: 0 };
    sum.count++;
    sum.bytes += nodes[at + (size as number)] as number;
    result.set(key, sum);
  }
  return result;
}

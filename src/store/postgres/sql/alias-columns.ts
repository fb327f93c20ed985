/**
 * Column names behind each alias of a query, for the guard (sql-guard.ts). PostgreSQL reads `alias.name` as
 * the function call `name(alias)` if the alias has no such column, so a reference passes only if the column is
 * known to exist. Names are those that PostgreSQL gives: of the view, the alias, the target or the function.
 *
 * An alias that is used in several scopes has only the columns that all of its uses share: which use is meant
 * depends on rules (lateral references, hidden join members) that are not worth repeating here.
 */
import { columnsOf, isViewName } from "../../sql/views.ts";

/** A node of the parser's tree: tagged with its kind, or the fields of one. */
export type Node = Readonly<Record<string, unknown>>;

/** Column names of the functions that have names for their results; any other has its alias as a column. */
const FUNCTION_COLUMNS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  ["json", "jsonb"].flatMap((type) => [
    [`${type}_array_elements`, ["value"]],
    [`${type}_array_elements_text`, ["value"]],
    [`${type}_each`, ["key", "value"]],
    [`${type}_each_text`, ["key", "value"]],
  ]),
);

/** Collects the items of all FROM and WITH clauses, then answers which columns an alias has. */
export class AliasColumns {
  /** Tagged FROM items and definitions of WITH, by the name that a query refers to them with. */
  readonly #items = new Map<string, Node[]>();
  readonly #subqueries = new Map<string, Node[]>();
  readonly #columns = new Map<Node, readonly string[] | undefined>();

  /** Adds a node of the query, if it gives a name to a relation. */
  add(kind: string, fields: Node): void {
    if (kind === "CommonTableExpr") append(this.#subqueries, fields["ctename"] as string, fields);
    if (!FROM_ITEMS.has(kind)) return;
    const alias = aliasOf(kind, fields);
    if (alias !== undefined) append(this.#items, alias, { [kind]: fields });
    const using = (fields["join_using_alias"] as Node | undefined)?.["aliasname"];
    if (typeof using === "string") {
      append(this.#items, using, { using: { names: textsOf(fields["usingClause"]) } });
    }
  }

  /** Returns whether every use of the alias has the column. */
  has(alias: string, column: string): boolean {
    return this.#shared(this.#items.get(alias))?.includes(column) ?? false;
  }

  /** Returns the columns that all items have, in the order of the first; undefined if none is known. */
  #shared(items: readonly Node[] = []): readonly string[] | undefined {
    const [first, ...more] = items
      .map((item) => this.#of(item))
      .filter((columns) => columns !== undefined);
    return first?.filter((name) => more.every((columns) => columns.includes(name)));
  }

  /** Returns the columns of an item; undefined while they are being computed, for a query that reads itself. */
  #of(item: Node): readonly string[] | undefined {
    if (this.#columns.has(item)) return this.#columns.get(item);
    this.#columns.set(item, undefined);
    const columns = this.#compute(item);
    this.#columns.set(item, columns);
    return columns;
  }

  #compute(item: Node): readonly string[] | undefined {
    const [kind, fields] = Object.entries(item)[0] as [string, Node];
    const alias = fields["alias"] as Node | undefined;
    const names = textsOf(alias?.["colnames"]);
    switch (kind) {
      case "RangeVar":
        return renamed(this.#relation(fields["relname"] as string), names);
      case "RangeSubselect":
        return renamed(this.#select((fields["subquery"] as Node)["SelectStmt"] as Node), names);
      case "RangeFunction":
        return renamed(functionColumns(fields), names);
      case "JoinExpr": {
        if (names.length > 0) return names;
        const sides = [fields["larg"], fields["rarg"]] as readonly Node[];
        return sides.flatMap((side) => this.#of(side) ?? []);
      }
      case "using":
        return fields["names"] as readonly string[];
      default:
        return [];
    }
  }

  /** Returns the columns of a view or subquery; where a name means either, those of both. */
  #relation(name: string): readonly string[] | undefined {
    const known = isViewName(name) ? columnsOf(name) : undefined;
    const defined = (this.#subqueries.get(name) ?? [])
      .map((definition) => this.#definition(definition))
      .filter((columns) => columns !== undefined);
    const [first, ...more] = known === undefined ? defined : [known, ...defined];
    return first?.filter((column) => more.every((columns) => columns.includes(column)));
  }

  #definition(fields: Node): readonly string[] | undefined {
    if (this.#columns.has(fields)) return this.#columns.get(fields);
    this.#columns.set(fields, undefined);
    const select = (fields["ctequery"] as Node)["SelectStmt"] as Node | undefined;
    const names = textsOf(fields["aliascolnames"]);
    const columns = select && renamed(this.#select(select), names);
    const search = fields["search_clause"] as Node | undefined;
    const cycle = fields["cycle_clause"] as Node | undefined;
    const added = [
      search?.["search_seq_column"],
      cycle?.["cycle_mark_column"],
      cycle?.["cycle_path_column"],
    ].filter((name) => typeof name === "string");
    const all = columns && [...columns, ...added];
    this.#columns.set(fields, all);
    return all;
  }

  /** Returns the columns of a SELECT; of a set operation, those of its first part. */
  #select(fields: Node): readonly string[] | undefined {
    const left = fields["larg"] as Node | undefined;
    if (left !== undefined) return this.#select(left);
    const values = fields["valuesLists"] as readonly Node[] | undefined;
    if (values !== undefined) {
      const row = ((values[0]?.["List"] as Node | undefined)?.["items"] ?? []) as readonly Node[];
      return row.map((_, i) => `column${i + 1}`);
    }
    const columns: string[] = [];
    for (const target of (fields["targetList"] ?? []) as readonly Node[]) {
      const found = this.#target(target["ResTarget"] as Node, fields);
      if (found === undefined) return undefined;
      columns.push(...found);
    }
    return columns;
  }

  #target({ name, val }: Node, select: Node): readonly string[] | undefined {
    if (typeof name === "string") return [name];
    const reference = (val as Node | undefined)?.["ColumnRef"] as Node | undefined;
    const [first, ...more] = textsOf(reference?.["fields"]);
    if (first === "*") {
      const all = ((select["fromClause"] ?? []) as readonly Node[]).map((item) => this.#of(item));
      return all.every((columns) => columns !== undefined) ? all.flat() : undefined;
    }
    if (more.at(-1) === "*") return this.#shared(this.#items.get(first ?? ""));
    return [nameOf(val as Node).name];
  }
}

const FROM_ITEMS = new Set(["RangeVar", "RangeSubselect", "RangeFunction", "JoinExpr"]);

function append<T>(to: Map<string, T[]>, name: string, item: T): void {
  to.set(name, [...(to.get(name) ?? []), item]);
}

/** A relation without an alias is referred to by its own name, a function by the function's. */
function aliasOf(kind: string, fields: Node): string | undefined {
  const alias = (fields["alias"] as Node | undefined)?.["aliasname"];
  if (typeof alias === "string") return alias;
  if (kind === "RangeVar") return fields["relname"] as string;
  return kind === "RangeFunction" ? functionName(fields) : undefined;
}

/** Returns the columns with the first ones renamed, as an alias with a list of columns does. */
const renamed = (
  columns: readonly string[] | undefined,
  names: readonly string[],
): readonly string[] | undefined => columns && [...names, ...columns.slice(names.length)];

/** Name of the only function of a FROM item: the grammar has no ROWS FROM with several. */
function functionName(fields: Node): string {
  const [list] = (fields["functions"] ?? []) as readonly Node[];
  const [call] = ((list?.["List"] as Node | undefined)?.["items"] ?? []) as readonly Node[];
  return call === undefined ? "" : nameOf(call).name;
}

function functionColumns(fields: Node): readonly string[] {
  const name = functionName(fields);
  const columns = Object.hasOwn(FUNCTION_COLUMNS, name) ? FUNCTION_COLUMNS[name] : undefined;
  const own = columns ?? [aliasOf("RangeFunction", fields) as string];
  return fields["ordinality"] === true ? [...own, "ordinality"] : own;
}

interface TargetName {
  readonly name: string;
  /** A weak name gives way to that of a type around it. */
  readonly isWeak: boolean;
}

const strong = (name: string): TargetName => ({ name, isWeak: false });
const NAMELESS: TargetName = { name: "?column?", isWeak: true };

/** Returns the name that PostgreSQL gives to a select target without an alias (`FigureColname`). */
function nameOf(tagged: Node): TargetName {
  const [kind, value] = Object.entries(tagged)[0] ?? ["", {}];
  const fields = value as Node;
  switch (kind) {
    case "ColumnRef":
      return strong(textsOf(fields["fields"]).at(-1) as string);
    case "FuncCall":
      return strong(textsOf(fields["funcname"]).at(-1) as string);
    case "A_Indirection":
      return nameOf(fields["arg"] as Node);
    case "A_Expr":
      return fields["kind"] === "AEXPR_NULLIF" ? strong("nullif") : NAMELESS;
    case "TypeCast": {
      const inner = nameOf(fields["arg"] as Node);
      if (!inner.isWeak) return inner;
      const type = textsOf((fields["typeName"] as Node)["names"]).at(-1) as string;
      return { name: type, isWeak: true };
    }
    case "CaseExpr": {
      const otherwise = fields["defresult"] as Node | undefined;
      const inner = otherwise === undefined ? NAMELESS : nameOf(otherwise);
      return inner.isWeak ? { name: "case", isWeak: true } : inner;
    }
    case "SubLink":
      return subLinkName(fields);
    case "MinMaxExpr":
      return strong(fields["op"] === "IS_LEAST" ? "least" : "greatest");
    case "SQLValueFunction":
      return strong(`${fields["op"]}`.replace(/^SVFOP_|_N$/g, "").toLowerCase());
    default:
      return Object.hasOwn(FIXED_NAMES, kind) ? strong(FIXED_NAMES[kind] as string) : NAMELESS;
  }
}

const FIXED_NAMES: Readonly<Record<string, string>> = {
  A_ArrayExpr: "array",
  RowExpr: "row",
  CoalesceExpr: "coalesce",
  GroupingFunc: "grouping",
};

function subLinkName(fields: Node): TargetName {
  switch (fields["subLinkType"]) {
    case "EXISTS_SUBLINK":
      return strong("exists");
    case "ARRAY_SUBLINK":
      return strong("array");
    case "EXPR_SUBLINK": {
      const select = (fields["subselect"] as Node)["SelectStmt"] as Node;
      const [target] = (select["targetList"] ?? []) as readonly Node[];
      const { name, val } = (target?.["ResTarget"] ?? {}) as Node;
      if (typeof name === "string") return strong(name);
      return val === undefined ? NAMELESS : nameOf(val as Node);
    }
    default:
      return NAMELESS;
  }
}

/** Returns the texts of a list of names; a star is `*`. */
export function textsOf(list: unknown): string[] {
  return ((list ?? []) as readonly Node[]).map((each) =>
    "A_Star" in each ? "*" : `${(each["String"] as Node | undefined)?.["sval"] ?? ""}`,
  );
}

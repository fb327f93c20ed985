/**
 * Whether a parsed query does nothing but read the views. It is walked node by node against the
 * grammar; names of relations, functions, operators and types are held against lists.
 *
 * PostgreSQL bounds no statement's memory, so what can grow is bounded here: how often a value can
 * be put together with another along the way, and how many aggregates keep all they are given.
 */
import { columnsOf, isViewName, VIEW_NAMES, VIEWS_HINT, type ViewName } from "../../sql/views.ts";
import {
  COLLECTING_AGGREGATES,
  CONCATENATING_FUNCTIONS,
  EXPRESSIONS,
  FUNCTIONS,
  GRAMMAR,
  OPERATORS,
  REFUSED_FIELDS,
  TIME_VALUES,
  TYPES,
} from "./sql-grammar.ts";

export interface QueryRefusal {
  readonly reason: string;
  readonly hint: string;
}

export interface QueryReads {
  readonly views: ReadonlySet<ViewName>;
  /** The numbers of its parameters. */
  readonly params: ReadonlySet<number>;
  /** Where (in bytes) it calls the function that is not PostgreSQL's own. */
  readonly similarities: readonly number[];
}

/** By how much values may be multiplied on their way through a query: eight doublings. */
const MAX_GROWTH = 256;
const MAX_COLLECTING_AGGREGATES = 2;

type Node = Readonly<Record<string, unknown>>;

class QueryRefusedError extends Error {
  readonly refusal: QueryRefusal;

  constructor(reason: string, hint = VIEWS_HINT) {
    super(reason);
    this.refusal = { reason, hint };
  }
}

/** What the query reads, or why it is refused. */
export function inspectQuery(statement: unknown): QueryReads | QueryRefusal {
  try {
    return new QueryInspector(statement as Node).reading();
  } catch (error) {
    if (error instanceof QueryRefusedError) return error.refusal;
    throw error;
  }
}

const COLUMNS = new Set<string>(VIEW_NAMES.flatMap(columnsOf));
const IMPLICIT_COLUMNS = new Set(["value", "key", "ordinality", "case"]);

class QueryInspector {
  readonly #views = new Set<ViewName>();
  readonly #params = new Set<number>();
  readonly #similarities: number[] = [];
  readonly #relations = new Set<string>();
  /** Names that can stand for a whole row. */
  readonly #rows = new Set<string>();
  /** Names the query itself gives: to subqueries, to columns. */
  readonly #subqueries = new Set<string>();
  readonly #given = new Set<string>();
  readonly #columns: (readonly string[])[] = [];
  /** The references that are a target by themselves. */
  readonly #targets = new Set<unknown>();
  #growth = 1;
  #collecting = 0;
  #recursive = false;

  constructor(statement: Node) {
    if (!("SelectStmt" in statement)) {
      throw new QueryRefusedError("it is no select", `Write one select. ${VIEWS_HINT}`);
    }
    this.#node(statement);
    for (const name of this.#relations) this.#relation(name);
    for (const fields of this.#columns) this.#column(fields);
    this.#bound();
  }

  reading(): QueryReads {
    return { views: this.#views, params: this.#params, similarities: this.#similarities };
  }

  #node(tagged: Node): void {
    const [entry, ...more] = Object.entries(tagged);
    if (entry === undefined) return; // Nothing: a plain `distinct`, an empty place in a list.
    if (more.length > 0) throw new QueryRefusedError("it has a part that cannot be told");
    const [kind, fields] = entry;
    this.#fields(kind, fields as Node);
  }

  #fields(kind: string, fields: Node): void {
    const grammar = Object.hasOwn(GRAMMAR, kind) ? GRAMMAR[kind] : undefined;
    if (grammar === undefined)
      throw new QueryRefusedError(`it has a part (${kind}) that is not for reading`);
    this.#check(kind, fields);
    for (const [name, value] of Object.entries(fields)) {
      if (name === "location") continue;
      const field = Object.hasOwn(grammar, name) ? grammar[name] : undefined;
      if (field === undefined) {
        throw new QueryRefusedError(
          REFUSED_FIELDS[`${kind}.${name}`] ?? `it has a ${name} (${kind})`,
        );
      }
      if (field === "plain") continue;
      if (field === "node") this.#node(value as Node);
      else if (field === "nodes") for (const each of value as readonly Node[]) this.#node(each);
      else this.#fields(field.of, value as Node);
    }
  }

  #check(kind: string, fields: Node): void {
    switch (kind) {
      case "RangeVar":
        this.#relations.add(fields["relname"] as string);
        this.#rows.add(fields["relname"] as string);
        return;
      case "CommonTableExpr":
        this.#subquery(fields["ctename"] as string);
        for (const name of textsOf(fields["aliascolnames"])) this.#given.add(name);
        return;
      case "Alias":
        this.#rows.add(fields["aliasname"] as string);
        for (const name of textsOf(fields["colnames"])) this.#given.add(name);
        return;
      case "WithClause":
        this.#recursive ||= fields["recursive"] === true;
        return;
      case "ResTarget":
        if (typeof fields["name"] === "string") this.#given.add(fields["name"]);
        this.#targets.add((fields["val"] as Node | undefined)?.["ColumnRef"]);
        return;
      case "ColumnRef":
        this.#columns.push(textsOf(fields["fields"]));
        // As a target of its own `x.*` is a list; anywhere else it is a row, all columns together.
        if (hasStar(fields) && !this.#targets.has(fields)) this.#grow(MANY_COLUMNS);
        return;
      case "A_Indirection":
        // (x).name would call a function of that name.
        if ((fields["indirection"] as readonly Node[]).some((each) => !("A_Indices" in each))) {
          throw new QueryRefusedError(
            "it takes a field of an expression",
            "Name columns as view.column.",
          );
        }
        return;
      case "FuncCall":
        this.#call(fields);
        return;
      case "A_Expr":
        this.#expression(fields);
        return;
      case "SubLink":
        for (const name of textsOf(fields["operName"])) this.#operator([name]);
        return;
      case "TypeName":
        this.#type(fields);
        return;
      case "ParamRef":
        this.#params.add((fields["number"] as number | undefined) ?? 0);
        return;
      case "SQLValueFunction":
        if (!TIME_VALUES.has(fields["op"] as string)) {
          throw new QueryRefusedError("it asks who or where it is, which is not in the views");
        }
        return;
      case "A_ArrayExpr":
        this.#grow((fields["elements"] as readonly unknown[] | undefined)?.length ?? 1);
        return;
      case "RowExpr":
        this.#grow((fields["args"] as readonly unknown[] | undefined)?.length ?? 1);
        return;
      case "CTECycleClause":
      case "CTESearchClause":
        for (const [name, value] of Object.entries(fields)) {
          if (name.endsWith("_column")) this.#given.add(value as string);
        }
        return;
    }
  }

  #subquery(name: string): void {
    if (!/^[a-z_][a-z0-9_]*$/.test(name) || name.startsWith("pg_")) {
      throw new QueryRefusedError(
        `it gives a subquery the name ${name}`,
        "Name it with small letters, digits and _, and not pg_….",
      );
    }
    this.#subqueries.add(name);
    this.#given.add(name);
  }

  /** Outside of where a subquery's name holds it means a relation of PostgreSQL's own: all pg_…. */
  #relation(name: string): void {
    if (isViewName(name)) this.#views.add(name);
    else if (!this.#subqueries.has(name) || name.startsWith("pg_")) {
      throw new QueryRefusedError(`it reads ${name}, which is none of the views`);
    }
  }

  /** `row.name` calls a function when the row has no such column. */
  #column(fields: readonly string[]): void {
    const [first, last] = [fields[0] as string, fields.at(-1) as string];
    if (fields.length > 2) throw new QueryRefusedError("it names a schema");
    if (fields.length === 1) {
      // Where a column has the name too it is counted as well: which of them is meant, and in which
      // of the subqueries, is not worth telling apart.
      if (this.#rows.has(first)) this.#grow(MANY_COLUMNS);
      return;
    }
    if (last === "*" || COLUMNS.has(last) || IMPLICIT_COLUMNS.has(last)) return;
    if (this.#given.has(last) || FUNCTIONS.has(last)) return;
    throw new QueryRefusedError(`it reads ${fields.join(".")}, which no view has`);
  }

  #call(fields: Node): void {
    const names = textsOf(fields["funcname"]);
    const name = names.at(-1) as string;
    const qualified = names.length > 1;
    // The parser itself writes pg_catalog before what has a syntax of its own, as extract() does.
    const own = names.length === 2 && names[0] === "pg_catalog";
    if ((qualified && !own) || !FUNCTIONS.has(name)) {
      throw new QueryRefusedError(
        `it calls ${names.join(".")}(), which is not among the functions that only compute`,
        "See docs/SQL.md for the functions there are.",
      );
    }
    const args = (fields["args"] as readonly Node[] | undefined) ?? [];
    if (name === "cosine_similarity") this.#similar(fields, args);
    if (CONCATENATING_FUNCTIONS.has(name))
      this.#grow(Math.max(2, args.filter((arg) => !isConstant(arg)).length));
    if (!COLLECTING_AGGREGATES.has(name)) return;
    this.#collecting += 1;
    if (fields["over"] !== undefined) {
      throw new QueryRefusedError(`it calls ${name}() over a window`, "Collect with GROUP BY.");
    }
  }

  #similar(fields: Node, args: readonly Node[]): void {
    this.#similarities.push((fields["location"] as number | undefined) ?? 0);
    for (const arg of args) {
      const constant = (arg["A_Const"] as Node | undefined)?.["sval"] as Node | undefined;
      const text = constant?.["sval"];
      if (typeof text === "string" && !text.trimStart().startsWith("[")) {
        throw new QueryRefusedError(
          "cosine_similarity compares vectors, not texts",
          "Bind the text as a parameter { text: … } to have it made into a vector.",
        );
      }
    }
  }

  #expression(fields: Node): void {
    if (!EXPRESSIONS.has(fields["kind"] as string)) {
      throw new QueryRefusedError("it has an expression that is not for reading");
    }
    const names = textsOf(fields["name"]);
    this.#operator(names.map((name) => name.replace(/^NOT /, "")));
    const sides = [fields["lexpr"], fields["rexpr"]] as readonly (Node | undefined)[];
    if (names[0] === "||" && !sides.some(isConstant)) this.#grow(2);
  }

  #operator(names: readonly string[]): void {
    const [name = ""] = names;
    if (names.length === 1 && OPERATORS.has(name)) return;
    throw new QueryRefusedError(
      `it uses the operator ${names.join(".")}`,
      "See docs/SQL.md for what there is.",
    );
  }

  #type(fields: Node): void {
    const names = textsOf(fields["names"]);
    const name = names.at(-1) as string;
    const own = names.length === 1 || (names.length === 2 && names[0] === "pg_catalog");
    if (own && TYPES.has(name)) return;
    throw new QueryRefusedError(
      `it uses the type ${names.join(".")}`,
      "See docs/SQL.md for what there is.",
    );
  }

  #grow(times: number): void {
    this.#growth *= Math.max(1, times);
  }

  #bound(): void {
    const hint = "Put less together in one query; do the rest with its answer.";
    if (this.#collecting > MAX_COLLECTING_AGGREGATES) {
      throw new QueryRefusedError(
        `it has more than ${MAX_COLLECTING_AGGREGATES} aggregates that collect values`,
        hint,
      );
    }
    if (this.#growth > MAX_GROWTH)
      throw new QueryRefusedError("it puts too many values together", hint);
    if (this.#recursive && (this.#growth > 1 || this.#collecting > 0)) {
      throw new QueryRefusedError(
        "it puts values together in a recursive query",
        "Use a number for the depth, and CYCLE … SET … USING … for the path.",
      );
    }
  }
}

/** A row as one value: as if so many were put together. */
const MANY_COLUMNS = 16;

const isConstant = (node: Node | undefined): boolean => node !== undefined && "A_Const" in node;

const hasStar = (reference: Node): boolean =>
  (reference["fields"] as readonly Node[]).some((field) => "A_Star" in field);

/** The texts of a list of names; a star is one. */
function textsOf(list: unknown): string[] {
  return ((list ?? []) as readonly Node[]).map((each) =>
    "A_Star" in each ? "*" : `${(each["String"] as Node | undefined)?.["sval"] ?? ""}`,
  );
}

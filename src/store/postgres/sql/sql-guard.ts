/**
 * Checks that a parsed query only reads the views. It compares the syntax tree node by node with the grammar,
 * and the names of relations, functions, operators and types with lists of allowed ones.
 *
 * PostgreSQL does not limit the memory of a statement, so growth is limited here: how often values can be
 * combined with each other within a query, and how many aggregates collect all their input.
 */
import { isViewName, VIEWS_HINT, type ViewName } from "../../sql/views.ts";
import { AliasColumns, type Node, textsOf } from "./alias-columns.ts";
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

/** Why a query is refused, and what to do instead. */
export interface QueryRefusal {
  readonly reason: string;
  readonly hint: string;
}

/** What a query uses. */
export interface QueryReads {
  readonly views: ReadonlySet<ViewName>;
  /** Numbers of its parameters. */
  readonly params: ReadonlySet<number>;
  /** Byte positions of the calls of `cosine_similarity`, which is not a function of PostgreSQL. */
  readonly similarities: readonly number[];
}

/** Maximum factor by which a query may multiply the size of values: eight doublings. */
const MAX_GROWTH = 256;
const MAX_COLLECTING_AGGREGATES = 2;

class QueryRefusedError extends Error {
  readonly refusal: QueryRefusal;

  constructor(reason: string, hint = VIEWS_HINT) {
    super(reason);
    this.refusal = { reason, hint };
  }
}

/** Returns what the query reads, or why it is refused. */
export function inspectQuery(statement: unknown): QueryReads | QueryRefusal {
  try {
    return new QueryInspector(statement as Node).reading();
  } catch (error) {
    if (error instanceof QueryRefusedError) return error.refusal;
    throw error;
  }
}

class QueryInspector {
  readonly #views = new Set<ViewName>();
  readonly #params = new Set<number>();
  readonly #similarities: number[] = [];
  readonly #relations = new Set<string>();
  /** Names that can refer to a whole row. */
  readonly #rows = new Set<string>();
  readonly #subqueries = new Set<string>();
  readonly #aliases = new AliasColumns();
  readonly #columns: (readonly string[])[] = [];
  /** Column references that are a select target on their own. */
  readonly #targets = new Set<unknown>();
  #growth = 1;
  #collecting = 0;
  #recursive = false;

  constructor(statement: Node) {
    if (!("SelectStmt" in statement)) {
      throw new QueryRefusedError("it is not a SELECT", `Write one SELECT. ${VIEWS_HINT}`);
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
    if (entry === undefined) return; // An empty node: a plain `distinct`, or an empty list element.
    if (more.length > 0) throw new QueryRefusedError("it has a node of unknown kind");
    const [kind, fields] = entry;
    this.#fields(kind, fields as Node);
  }

  #fields(kind: string, fields: Node): void {
    const grammar = Object.hasOwn(GRAMMAR, kind) ? GRAMMAR[kind] : undefined;
    if (grammar === undefined)
      throw new QueryRefusedError(`it contains ${kind}, which is not allowed in a read-only query`);
    this.#check(kind, fields);
    for (const [name, value] of Object.entries(fields)) {
      if (name === "location") continue;
      const field = Object.hasOwn(grammar, name) ? grammar[name] : undefined;
      if (field === undefined) {
        throw new QueryRefusedError(
          REFUSED_FIELDS[`${kind}.${name}`] ?? `it uses ${name} in ${kind}, which is not allowed`,
        );
      }
      if (field === "plain") continue;
      if (field === "node") this.#node(value as Node);
      else if (field === "nodes") for (const each of value as readonly Node[]) this.#node(each);
      else this.#fields(field.of, value as Node);
    }
  }

  #check(kind: string, fields: Node): void {
    this.#aliases.add(kind, fields);
    switch (kind) {
      case "RangeVar":
        this.#relations.add(fields["relname"] as string);
        this.#rows.add(fields["relname"] as string);
        return;
      case "CommonTableExpr":
        this.#subquery(fields["ctename"] as string);
        return;
      case "Alias":
        this.#rows.add(fields["aliasname"] as string);
        return;
      case "WithClause":
        this.#recursive ||= fields["recursive"] === true;
        return;
      case "ResTarget":
        this.#targets.add((fields["val"] as Node | undefined)?.["ColumnRef"]);
        return;
      case "ColumnRef":
        this.#columns.push(textsOf(fields["fields"]));
        // As a select target `x.*` is a list of columns; anywhere else it is a row of all columns.
        if (hasStar(fields) && !this.#targets.has(fields)) this.#grow(MANY_COLUMNS);
        return;
      case "A_Indirection":
        // (x).name could call a function with that name.
        if ((fields["indirection"] as readonly Node[]).some((each) => !("A_Indices" in each))) {
          throw new QueryRefusedError(
            "it selects a field of an expression",
            "Write columns as view.column.",
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
          throw new QueryRefusedError("it reads the user, role or database of the connection");
        }
        return;
      case "A_ArrayExpr":
        this.#grow((fields["elements"] as readonly unknown[] | undefined)?.length ?? 1);
        return;
      case "RowExpr":
        this.#grow((fields["args"] as readonly unknown[] | undefined)?.length ?? 1);
        return;
    }
  }

  #subquery(name: string): void {
    if (!/^[a-z_][a-z0-9_]*$/.test(name) || name.startsWith("pg_")) {
      throw new QueryRefusedError(
        `it has a subquery named ${name}`,
        "Use a name of lowercase letters, digits and _ that does not start with pg_.",
      );
    }
    this.#subqueries.add(name);
  }

  /** Out of scope, a subquery's name refers to a relation of PostgreSQL itself: those all start with pg_. */
  #relation(name: string): void {
    if (isViewName(name)) this.#views.add(name);
    else if (!this.#subqueries.has(name) || name.startsWith("pg_")) {
      throw new QueryRefusedError(`it reads ${name}, which is not one of the views`);
    }
  }

  /** Checks a column reference: `row.name` calls a function if the row has no such column. */
  #column(fields: readonly string[]): void {
    const [first, last] = [fields[0] as string, fields.at(-1) as string];
    if (fields.length > 2) throw new QueryRefusedError("it names a schema");
    if (fields.length === 1) {
      // Counted even if a column has the same name: it is not worth resolving which of them is meant, and in
      // which subquery.
      if (this.#rows.has(first)) this.#grow(MANY_COLUMNS);
      return;
    }
    if (last === "*" || this.#aliases.has(first, last)) return;
    throw new QueryRefusedError(
      `it reads ${fields.join(".")}, which is not a column of ${first}`,
      `Give columns a name with AS, and use the alias ${first} once in the query. ${VIEWS_HINT}`,
    );
  }

  #call(fields: Node): void {
    const names = textsOf(fields["funcname"]);
    const name = names.at(-1) as string;
    const qualified = names.length > 1;
    // The parser itself adds pg_catalog to functions with special syntax, such as extract().
    const own = names.length === 2 && names[0] === "pg_catalog";
    if ((qualified && !own) || !FUNCTIONS.has(name)) {
      throw new QueryRefusedError(
        `it calls ${names.join(".")}(), which is not one of the allowed functions`,
        "See docs/SQL.md for the allowed functions.",
      );
    }
    const args = (fields["args"] as readonly Node[] | undefined) ?? [];
    if (name === "cosine_similarity") this.#similar(fields, args);
    if (CONCATENATING_FUNCTIONS.has(name))
      this.#grow(Math.max(2, args.filter((arg) => !isConstant(arg)).length));
    if (!COLLECTING_AGGREGATES.has(name)) return;
    this.#collecting += 1;
    if (fields["over"] !== undefined) {
      throw new QueryRefusedError(`it calls ${name}() over a window`, "Use GROUP BY instead.");
    }
  }

  #similar(fields: Node, args: readonly Node[]): void {
    this.#similarities.push((fields["location"] as number | undefined) ?? 0);
    for (const arg of args) {
      const constant = (arg["A_Const"] as Node | undefined)?.["sval"] as Node | undefined;
      const text = constant?.["sval"];
      if (typeof text === "string" && !text.trimStart().startsWith("[")) {
        throw new QueryRefusedError(
          "it passes a text to cosine_similarity, which compares vectors",
          "Bind the text as a parameter { text: … } to have it embedded.",
        );
      }
    }
  }

  #expression(fields: Node): void {
    if (!EXPRESSIONS.has(fields["kind"] as string)) {
      throw new QueryRefusedError("it has a kind of expression that is not allowed");
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
      `it uses the operator ${names.join(".")}, which is not allowed`,
      "See docs/SQL.md for the allowed operators.",
    );
  }

  #type(fields: Node): void {
    const names = textsOf(fields["names"]);
    const name = names.at(-1) as string;
    const own = names.length === 1 || (names.length === 2 && names[0] === "pg_catalog");
    if (own && TYPES.has(name)) return;
    throw new QueryRefusedError(
      `it uses the type ${names.join(".")}, which is not allowed`,
      "See docs/SQL.md for the allowed types.",
    );
  }

  #grow(times: number): void {
    this.#growth *= Math.max(1, times);
  }

  #bound(): void {
    const hint = "Combine fewer values in the query, and combine the rest in your program.";
    if (this.#collecting > MAX_COLLECTING_AGGREGATES) {
      throw new QueryRefusedError(
        `it has more than ${MAX_COLLECTING_AGGREGATES} aggregates that collect values`,
        hint,
      );
    }
    if (this.#growth > MAX_GROWTH) throw new QueryRefusedError("it combines too many values", hint);
    if (this.#recursive && (this.#growth > 1 || this.#collecting > 0)) {
      throw new QueryRefusedError(
        "it combines values in a recursive query",
        "Use a number for the depth, and CYCLE … SET … USING … for the path.",
      );
    }
  }
}

/** Number of values that a whole row counts as. */
const MANY_COLUMNS = 16;

const isConstant = (node: Node | undefined): boolean => node !== undefined && "A_Const" in node;

const hasStar = (reference: Node): boolean =>
  (reference["fields"] as readonly Node[]).some((field) => "A_Star" in field);

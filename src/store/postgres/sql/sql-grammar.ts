/**
 * The subset of PostgreSQL's grammar that reads and computes, as data: the allowed fields of each kind of
 * node. A node or field that is not listed is refused, whatever it means. That covers writes, locks, `into`,
 * schema names, and anything that a later version of the parser adds.
 */

/** A plain value; a node tagged with its kind; a list of those; or an untagged node of a fixed kind. */
type Field = "plain" | "node" | "nodes" | { readonly of: string };

const nodeOfKind = (kind: string): Field => ({ of: kind });

/** Allowed fields by kind of node. */
export const GRAMMAR: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
  SelectStmt: {
    distinctClause: "nodes",
    targetList: "nodes",
    fromClause: "nodes",
    whereClause: "node",
    groupClause: "nodes",
    groupDistinct: "plain",
    havingClause: "node",
    windowClause: "nodes",
    valuesLists: "nodes",
    sortClause: "nodes",
    limitOffset: "node",
    limitCount: "node",
    limitOption: "plain",
    withClause: nodeOfKind("WithClause"),
    op: "plain",
    all: "plain",
    larg: nodeOfKind("SelectStmt"),
    rarg: nodeOfKind("SelectStmt"),
  },
  ResTarget: { name: "plain", val: "node" },
  ColumnRef: { fields: "nodes" },
  A_Star: {},
  String: { sval: "plain" },
  Integer: { ival: "plain" },
  A_Const: { ival: "plain", fval: "plain", boolval: "plain", sval: "plain", isnull: "plain" },
  ParamRef: { number: "plain" },
  A_Expr: {
    kind: "plain",
    name: "nodes",
    lexpr: "node",
    rexpr: "node",
    rexpr_list_start: "plain",
    rexpr_list_end: "plain",
  },
  BoolExpr: { boolop: "plain", args: "nodes" },
  NullTest: { arg: "node", nulltesttype: "plain" },
  BooleanTest: { arg: "node", booltesttype: "plain" },
  CaseExpr: { arg: "node", args: "nodes", defresult: "node" },
  CaseWhen: { expr: "node", result: "node" },
  CoalesceExpr: { args: "nodes" },
  MinMaxExpr: { op: "plain", args: "nodes" },
  FuncCall: {
    funcname: "nodes",
    args: "nodes",
    agg_order: "nodes",
    agg_filter: "node",
    over: nodeOfKind("WindowDef"),
    agg_within_group: "plain",
    agg_star: "plain",
    agg_distinct: "plain",
    funcformat: "plain",
  },
  WindowDef: {
    name: "plain",
    refname: "plain",
    partitionClause: "nodes",
    orderClause: "nodes",
    frameOptions: "plain",
    startOffset: "node",
    endOffset: "node",
  },
  SortBy: { node: "node", sortby_dir: "plain", sortby_nulls: "plain" },
  SubLink: { subLinkType: "plain", testexpr: "node", operName: "nodes", subselect: "node" },
  RangeVar: { relname: "plain", inh: "plain", relpersistence: "plain", alias: nodeOfKind("Alias") },
  RangeSubselect: { lateral: "plain", subquery: "node", alias: nodeOfKind("Alias") },
  RangeFunction: {
    lateral: "plain",
    ordinality: "plain",
    functions: "nodes",
    alias: nodeOfKind("Alias"),
  },
  JoinExpr: {
    jointype: "plain",
    isNatural: "plain",
    larg: "node",
    rarg: "node",
    usingClause: "nodes",
    join_using_alias: nodeOfKind("Alias"),
    quals: "node",
    alias: nodeOfKind("Alias"),
  },
  Alias: { aliasname: "plain", colnames: "nodes" },
  WithClause: { ctes: "nodes", recursive: "plain" },
  CommonTableExpr: {
    ctename: "plain",
    aliascolnames: "nodes",
    ctematerialized: "plain",
    ctequery: "node",
    search_clause: nodeOfKind("CTESearchClause"),
    cycle_clause: nodeOfKind("CTECycleClause"),
  },
  CTESearchClause: {
    search_col_list: "nodes",
    search_breadth_first: "plain",
    search_seq_column: "plain",
  },
  CTECycleClause: {
    cycle_col_list: "nodes",
    cycle_mark_column: "plain",
    cycle_mark_value: "node",
    cycle_mark_default: "node",
    cycle_path_column: "plain",
  },
  TypeCast: { arg: "node", typeName: nodeOfKind("TypeName") },
  TypeName: { names: "nodes", typmods: "nodes", typemod: "plain", arrayBounds: "nodes" },
  List: { items: "nodes" },
  A_ArrayExpr: { elements: "nodes", list_start: "plain", list_end: "plain" },
  A_Indirection: { arg: "node", indirection: "nodes" },
  A_Indices: { is_slice: "plain", lidx: "node", uidx: "node" },
  RowExpr: { args: "nodes", row_format: "plain" },
  GroupingSet: { kind: "plain", content: "nodes" },
  GroupingFunc: { args: "nodes" },
  SQLValueFunction: { op: "plain", typmod: "plain" },
};

/** Reasons for the fields that are refused most often. */
export const REFUSED_FIELDS: Readonly<Record<string, string>> = {
  "SelectStmt.intoClause": "it selects into a table",
  "SelectStmt.lockingClause": "it locks rows",
  "RangeVar.schemaname": "it names a schema",
  "RangeVar.catalogname": "it names a database",
};

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Allowed operators. */
export const OPERATORS = words(`
  + - * / % = <> != < > <= >= || -> ->> #> #>> @> <@ ~~ !~~ ~~* !~~*
  BETWEEN
`);

/** Allowed kinds of expressions. */
export const EXPRESSIONS = words(`
  AEXPR_OP AEXPR_OP_ANY AEXPR_OP_ALL AEXPR_DISTINCT AEXPR_NOT_DISTINCT AEXPR_NULLIF AEXPR_IN
  AEXPR_LIKE AEXPR_ILIKE AEXPR_BETWEEN AEXPR_NOT_BETWEEN
`);

/** Allowed types, without types that pad: the query would determine their length. */
export const TYPES = words(`
  text varchar int2 int4 int8 int integer bigint smallint float4 float8 real numeric decimal bool
  boolean json jsonb date time timetz timestamp timestamptz interval uuid
`);

/** Allowed keyword functions: those that return a time. */
export const TIME_VALUES = words(`
  SVFOP_CURRENT_DATE SVFOP_CURRENT_TIME SVFOP_CURRENT_TIME_N SVFOP_CURRENT_TIMESTAMP
  SVFOP_CURRENT_TIMESTAMP_N SVFOP_LOCALTIME SVFOP_LOCALTIME_N SVFOP_LOCALTIMESTAMP
  SVFOP_LOCALTIMESTAMP_N
`);

/** Allowed functions: they compute from their arguments, and their result is not larger than those. */
export const FUNCTIONS = words(`
  abs age any_value array_length array_position array_to_string ascii avg bool_and bool_or btrim
  cardinality ceil ceiling char_length chr concat concat_ws cosine_similarity count cume_dist
  date_part date_trunc dense_rank every exp extract first_value floor greatest initcap json_agg
  json_array_elements json_array_elements_text json_array_length json_build_array json_build_object
  json_each json_each_text json_extract_path json_extract_path_text json_object_agg
  json_object_keys json_typeof jsonb_agg jsonb_array_elements jsonb_array_elements_text
  jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text
  jsonb_extract_path jsonb_extract_path_text jsonb_object_agg jsonb_object_keys jsonb_typeof lag
  last_value lead left length like_escape ln log lower ltrim make_interval max md5 min mod mode now
  nth_value ntile octet_length percent_rank percentile_cont percentile_disc position rank right
  round row_number row_to_json rtrim sign split_part sqrt starts_with stddev stddev_pop
  stddev_samp strpos string_agg array_agg substr substring sum timezone to_char to_date to_json
  to_jsonb to_timestamp trunc unnest upper var_pop var_samp variance
`);

/** Of those, the functions that return all their arguments combined. */
export const CONCATENATING_FUNCTIONS = words(`
  array_to_string concat concat_ws json_build_array json_build_object jsonb_build_array
  jsonb_build_object row_to_json to_json to_jsonb
`);

/** Of those, the aggregates that keep every value they receive, row by row. */
export const COLLECTING_AGGREGATES = words(`
  array_agg json_agg json_object_agg jsonb_agg jsonb_object_agg string_agg
`);

/**
 * The allowed form of names that people choose: agents, roles, tasks, runs, channels, workspaces, payload
 * types.
 */
export const NAME_PATTERN = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._/@#+-]*[\p{L}\p{N}._/@#+-])?$/u;

/** The same rule in words, for error messages. */
export const NAME_RULE = "must be a name: letters, digits, spaces and . _ / @ # + -";

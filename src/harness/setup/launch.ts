/**
 * Builds and recognizes the command lines with which harnesses start Baton. They use the absolute paths of
 * Node.js and of Baton's entry file, so that a hook starts at once and works if neither is on the PATH.
 */

/** How to start Baton. */
export interface Launch {
  /** Path of the running Node.js. */
  readonly node: string;
  /** Path of cli/main.js of the package, or of cli/main.ts of the sources. */
  readonly entry: string;
  /** The agent that the harness's sessions act as. */
  readonly as: string;
  /** --store and --workspace of every call; empty: the defaults of the folder. */
  readonly choice: readonly string[];
}

/** Returns the arguments of Node.js that start the MCP server. */
export const mcpArguments = ({ entry, as, choice }: Launch): string[] => [
  entry,
  "mcp",
  "--as",
  as,
  ...choice,
];

/** Returns whether a program and its arguments start Baton's MCP server, of any version and location. */
export const isServer = ([, entry, verb]: readonly unknown[]): boolean =>
  typeof entry === "string" && /[\\/]cli[\\/]main\.[jt]s$/.test(entry) && verb === "mcp";

/** Returns the command line of a hook, quoted for a shell. */
export function hookCommand({ node, entry, as, choice }: Launch, harness: string, event: string) {
  return [node, entry, "hook", harness, event, "--as", as, ...choice].map(shellWord).join(" ");
}

/** Returns whether a command line is a hook of Baton, of any version and location. */
export const isHookCommand = (command: unknown, harness: string): boolean =>
  typeof command === "string" &&
  new RegExp(`[\\\\/]cli[\\\\/]main\\.[jt]s["']? hook ${harness} `).test(command);

/** Returns the program and the entry file of a hook's command line. */
export function programAndEntryOf(command: string): readonly string[] {
  const words = command.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
  return words
    .slice(0, 2)
    .map((word) => (word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, "$1") : word));
}

/** Quotes a word only if needed, because every shell reads a plain word. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : `"${word.replace(/["$`\\]/g, "\\$&")}"`;
}

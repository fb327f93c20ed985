/**
 * How others start Baton: by the absolute paths of Node and of our own entry, so that a hook is looked
 * up by nobody and starts at once, and works where neither is on the PATH.
 */

export interface Launch {
  /** Of the Node that runs now. */
  readonly node: string;
  /** cli/main.js of the package, or cli/main.ts of the sources. */
  readonly entry: string;
  /** The agent in whose name the harness's sessions act. */
  readonly as: string;
  /** Of every call: which store and workspace, where they are not the ones of the folder. */
  readonly choice: readonly string[];
}

export const mcpArguments = ({ entry, as, choice }: Launch): string[] => [
  entry,
  "mcp",
  "--as",
  as,
  ...choice,
];

/** Whether a program and its arguments are our MCP server, of whichever version and from wherever. */
export const isServer = ([, entry, verb]: readonly unknown[]): boolean =>
  typeof entry === "string" && /[\\/]cli[\\/]main\.[jt]s$/.test(entry) && verb === "mcp";

/** As one command line, for a shell. */
export function hookCommand({ node, entry, as, choice }: Launch, harness: string, event: string) {
  return [node, entry, "hook", harness, event, "--as", as, ...choice].map(shellWord).join(" ");
}

/** Whether a command line is one of ours, of whichever version and from wherever. */
export const isHookCommand = (command: unknown, harness: string): boolean =>
  typeof command === "string" &&
  new RegExp(`[\\\\/]cli[\\\\/]main\\.[jt]s["']? hook ${harness} `).test(command);

/** The program and the entry that such a command line starts. */
export function programAndEntryOf(command: string): readonly string[] {
  const words = command.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
  return words
    .slice(0, 2)
    .map((word) => (word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, "$1") : word));
}

/** Quoted only where it must be: every shell reads a plain word. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : `"${word.replace(/["$`\\]/g, "\\$&")}"`;
}

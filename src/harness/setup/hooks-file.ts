/**
 * Adds and removes Baton's hooks in a harness's settings. Claude Code and Codex use the same format: per
 * event a list of groups, each with a list of commands. Baton's hooks are recognized by their command line;
 * all other hooks are left unchanged.
 */
import { unusableFile } from "./file-changes.ts";
import {
  isObject,
  type Json,
  type JsonObject,
  type JsonPath,
  parseJson,
  removeAt,
  setAt,
  valueAt,
} from "./json-edit.ts";
import { isHookCommand } from "./launch.ts";

/** A hook to install. */
export interface WantedHook {
  readonly event: string;
  readonly handler: JsonObject;
}

interface HookLocation {
  readonly event: string;
  /** Path of the command in the file; `group`: path of its group. */
  readonly path: JsonPath;
  readonly group: JsonPath;
  /** True if the group has no other command. */
  readonly isAlone: boolean;
  readonly command: string;
}

/** Returns the file with the hooks; an existing hook of Baton only gets the new command line. */
export function withHooks(
  text: string | undefined,
  file: string,
  harness: string,
  wanted: readonly WantedHook[],
): string | undefined {
  let now = text;
  for (const { event, handler } of wanted) {
    const there = findHooks(now, file, harness).find((place) => place.event === event);
    const groups = valueAt(parseJson(now, file), ["hooks", event]);
    now =
      there === undefined
        ? setAt(now, ["hooks", event, Array.isArray(groups) ? groups.length : 0], {
            hooks: [handler],
          })
        : // The user may have changed the other fields.
          setAt(now, [...there.path, "command"], handler["command"] as Json);
  }
  return now;
}

/** Returns the file without Baton's hooks; undefined if nothing is left of it. */
export function withoutHooks(
  text: string | undefined,
  file: string,
  harness: string,
): string | undefined {
  let now = text;
  for (;;) {
    // From the end, so that earlier positions stay valid.
    const last = findHooks(now, file, harness).at(-1);
    if (last === undefined || now === undefined) return now;
    now = removeAt(now, last.isAlone ? last.group : last.path);
  }
}

/** Returns the command lines of Baton's hooks, by event. */
export function hookCommandsIn(
  text: string | undefined,
  file: string,
  harness: string,
): ReadonlyMap<string, string> {
  return new Map(findHooks(text, file, harness).map(({ event, command }) => [event, command]));
}

function findHooks(text: string | undefined, file: string, harness: string): HookLocation[] {
  const hooks = parseJson(text, file)["hooks"];
  if (hooks === undefined) return [];
  if (!isObject(hooks)) throw unusableFile(file, '"hooks" is not an object');
  return Object.entries(hooks).flatMap(([event, groups]) => {
    if (!Array.isArray(groups)) throw unusableFile(file, `"hooks.${event}" is not a list`);
    return (groups as readonly Json[]).flatMap((each, i) => {
      const commands =
        isObject(each) && Array.isArray(each["hooks"]) ? (each["hooks"] as readonly Json[]) : [];
      return commands.flatMap((handler, j) => {
        const command = isObject(handler) ? handler["command"] : undefined;
        if (!isHookCommand(command, harness)) return [];
        const group = ["hooks", event, i];
        const isAlone = commands.length === 1;
        return [{ event, path: [...group, "hooks", j], group, isAlone, command: String(command) }];
      });
    });
  });
}

/** The command `baton profile`: shows and sets the view profiles of roles. */
import { nearestNames } from "../../../base/nearest-names.ts";
import type { Hub } from "../../../hub/hub.ts";
import { NEUTRAL_PROFILE, type RoleProfile } from "../../../profiles/role-profiles.ts";
import type { RoleProfileInfo } from "../../../profiles/workspace-profiles.ts";
import { command, JSON_OPTION, STORE_OPTIONS } from "../../command.ts";
import { OK } from "../../exit.ts";
import { printField } from "../../render/envelope.ts";
import { openStore } from "../../store.ts";
import { bold, dim, printJson, printLine, table } from "../../terminal.ts";
import { didYouMean, usageError } from "../../usage-error.ts";

export const profile = command({
  name: "profile",
  summary: "Show the view profiles of roles, or replace the profile of one (--set)",
  args: [{ name: "role", help: "role (default: list all profiles)", optional: true }],
  options: {
    set: {
      type: "texts",
      value: "<setting=value>",
      help: "setting of the new profile: types.decision=2, tags.security=1.5, sections.recent=0, reserve.work=0.4, tokens=4000, strategy=lazy",
    },
    reset: { type: "flag", help: "restore the default profile" },
    ...STORE_OPTIONS,
    ...JSON_OPTION,
  },

  async run({ args: [role], options: { set, reset, json, ...choice } }) {
    if (role === undefined && (set !== undefined || reset)) {
      throw usageError(
        "role",
        "--set and --reset need <role>.",
        "Write baton profile <role> --set types.decision=2.",
      );
    }
    if (set !== undefined && reset) {
      throw usageError("--reset", "--set and --reset cannot be combined.", "Pass one of them.");
    }
    await using hub = await openStore(choice, { create: set !== undefined });
    if (role === undefined) {
      await printProfiles(hub, json);
      return OK;
    }
    const change = set === undefined ? null : settingsOf(set);
    if (set !== undefined || reset) await hub.settings.update({ profiles: { [role]: change } });
    const known = await profilesOf(hub);
    const found = known.find((each) => each.role === role);
    const shown = found ?? (await defaultProfileOf(role));
    if (json) {
      printJson(shown);
      return OK;
    }
    const roles = await rolesOf(hub);
    const named = new Set([...roles, ...known.map((each) => each.role)]);
    const near = didYouMean(nearestNames(role, [...named]));
    printProfile(shown, found === undefined ? noProfileText(near) : undefined);
    if (set !== undefined && !roles.includes(role)) {
      printLine(dim(`No agent has the role "${role}".`));
    }
    return OK;
  },
});

const rolesOf = async (hub: Hub): Promise<string[]> =>
  (await hub.agents.list()).flatMap(({ role }) => role ?? []);

const noProfileText = (near: string | undefined): string =>
  `no profile: uses the defaults.${near === undefined ? "" : ` ${near}`}`;

async function defaultProfileOf(role: string): Promise<RoleProfileInfo> {
  const { profileOf } = await import("../../../profiles/workspace-profiles.ts");
  return { role, changed: false, ...profileOf(role) };
}

async function profilesOf(hub: Hub): Promise<RoleProfileInfo[]> {
  const { profiles } = await hub.settings.get();
  return Object.entries(profiles).map(([role, profile]) => ({ role, ...profile }));
}

async function printProfiles(hub: Hub, json: boolean | undefined): Promise<void> {
  const all = await profilesOf(hub);
  if (json) {
    printJson(all);
    return;
  }
  const rows = all.map(({ role, changed, types }) => [
    role,
    changed ? "changed" : "",
    `prefers ${heaviest(types).slice(0, 4).join(", ")}`,
  ]);
  for (const row of table(rows)) printLine(row);
}

function printProfile({ role, changed, ...profile }: RoleProfileInfo, unknown?: string): void {
  const whose = changed ? "changed" : "default";
  printLine(`${bold(role)}  ${dim(unknown ?? whose)}`);
  printField("types", [weights(profile.types)]);
  printField("sections", [weights(profile.sections)]);
  printField("parts", [weights(profile.parts)]);
  printField("tags", Object.keys(profile.tags).length === 0 ? [] : [weights(profile.tags)]);
  const { system, instructions, work } = profile.reserve;
  printField("reserve", [
    `system ${system}, instructions ${instructions}, work ${work} of the window`,
  ]);
  printField("tokens", profile.tokens === undefined ? [] : [String(profile.tokens)]);
  printField("strategy", profile.strategy === undefined ? [] : [profile.strategy]);
}

type Weights = Readonly<Record<string, number>>;

const heaviest = (weighed: Weights): string[] =>
  Object.entries(weighed)
    .sort(([, a], [, b]) => b - a)
    .map(([name]) => name);

const weights = (weighed: Weights): string =>
  heaviest(weighed)
    .map((name) => `${name} ${weighed[name]}`)
    .join(", ");

const { sections, parts, reserve } = NEUTRAL_PROFILE;
/** Groups with fixed names; types and tags accept any name. */
const NAMED: Readonly<Record<string, object>> = { sections, parts, reserve };
const GROUPS = ["types", "tags", ...Object.keys(NAMED), "tokens", "strategy"];

function requireKnown(group: string, name: string | undefined): void {
  const isNamed = name !== undefined && Object.hasOwn(NAMED, group);
  const [wanted, known] = isNamed ? [name, Object.keys(NAMED[group] ?? {})] : [group, GROUPS];
  if (known.includes(wanted)) return;
  const place = isNamed ? `${group}.${name}` : group;
  throw usageError(
    `--set ${place}`,
    `Unknown profile setting ${place}.`,
    didYouMean(nearestNames(wanted, known)) ?? `Use one of: ${known.join(", ")}.`,
  );
}

/** Parses settings such as `types.decision=2`; the library validates the values. */
function settingsOf(settings: readonly string[]): RoleProfile {
  const profile: Record<string, unknown> = {};
  for (const text of settings) {
    const [, group = "", name, value = ""] = /^([a-z]+)(?:\.([^=]+))?=(.+)$/.exec(text) ?? [];
    if (group === "") {
      throw usageError(
        "--set",
        `Invalid --set "${text}": expected <setting>=<value>.`,
        "Write --set types.decision=2, --set tokens=4000 or --set strategy=lazy.",
      );
    }
    requireKnown(group, name);
    const parsed = Number.isNaN(Number(value)) ? value : Number(value);
    profile[group] =
      name === undefined ? parsed : { ...(profile[group] as object), [name]: parsed };
  }
  return profile as RoleProfile;
}

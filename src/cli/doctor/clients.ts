/** Checks the setup of each harness: its programs exist, it is complete, and its agent is registered. */
import { existsSync } from "node:fs";
import {
  agentOf,
  type InstalledSetup,
  programFilesOf,
  readInstalledSetup,
} from "../../harness/setup/installed-setup.ts";
import {
  CLIENTS,
  type Client,
  filesOf,
  HOOK_EVENTS,
  SCOPES,
  type SettingsPaths,
} from "../../harness/setup/plan.ts";
import { type CheckResult, failed, ok, warn } from "./check-result.ts";

/** Returns at least one result per harness. `agents`: registered names; undefined without a store. */
export function checkClients(
  places: SettingsPaths,
  agents: ReadonlySet<string> | undefined,
): CheckResult[] {
  return CLIENTS.flatMap((client) => {
    const findings = SCOPES.flatMap((scope) => {
      const check = `${client} (${scope})`;
      try {
        const found = readInstalledSetup(client, filesOf(client, scope, places));
        const again = `baton setup ${client} --scope ${scope}`;
        return isInstalled(found) ? [checkSetup(check, client, found, { agents, again })] : [];
      } catch (error) {
        return [failed(check, error)];
      }
    });
    return findings.length > 0
      ? findings
      : [ok(client, `not set up; to use it: baton setup ${client}`)];
  });
}

const isInstalled = ({ server, hooks }: InstalledSetup): boolean =>
  server !== undefined || hooks.size > 0;

function checkSetup(
  check: string,
  client: Client,
  found: InstalledSetup,
  { agents, again }: { readonly agents: ReadonlySet<string> | undefined; readonly again: string },
): CheckResult {
  const gone = programFilesOf(found).filter((file) => !existsSync(file));
  if (gone.length > 0) {
    const problem = `starts ${gone.join(" and ")}, which does not exist`;
    return {
      check,
      status: "fail",
      found: problem,
      fix: `Set it up again: ${again}`,
      code: "file_unusable",
    };
  }
  const missing = HOOK_EVENTS[client].filter((event) => !found.hooks.has(event));
  if (found.server === undefined || missing.length > 0) {
    const parts = [...(found.server === undefined ? ["the MCP server"] : []), ...missing];
    return warn(
      check,
      `incomplete setup: ${parts.join(", ")} missing`,
      `Set it up again: ${again}`,
    );
  }
  const agent = agentOf(found);
  if (agent === undefined) return ok(check, `MCP server and ${found.hooks.size} hooks`);
  if (agents !== undefined && !agents.has(agent)) {
    const fix = `Register it (baton agent add ${agent} --role agent), or start a session, which registers it.`;
    return warn(check, `acts as ${agent}, which is not registered`, fix);
  }
  return ok(check, `MCP server and ${found.hooks.size} hooks; acts as ${agent}`);
}

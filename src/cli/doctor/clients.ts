/** What is set up for the harnesses: whether it would start, and whether the agent is known. */
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

/** `agents`: who is registered; undefined where there is no store to ask. */
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
      : [ok(client, `not set up; if you use it: baton setup ${client}`)];
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
    const told = `starts ${gone.join(" and ")}, which is not there`;
    return {
      check,
      status: "fail",
      found: told,
      mend: `Set it up again: ${again}`,
      code: "file_unusable",
    };
  }
  const missing = HOOK_EVENTS[client].filter((event) => !found.hooks.has(event));
  if (found.server === undefined || missing.length > 0) {
    const parts = [...(found.server === undefined ? ["the MCP server"] : []), ...missing];
    return warn(
      check,
      `not all of it is set up: without ${parts.join(", ")}`,
      `Set it up again: ${again}`,
    );
  }
  const agent = agentOf(found);
  if (agent === undefined) return ok(check, `MCP server and ${found.hooks.size} hooks`);
  if (agents !== undefined && !agents.has(agent)) {
    const mend = `Register it (baton agent add ${agent} --role agent), or start a session: it does.`;
    return warn(check, `acts as ${agent}, whom nobody registered here`, mend);
  }
  return ok(check, `MCP server and ${found.hooks.size} hooks; acts as ${agent}`);
}

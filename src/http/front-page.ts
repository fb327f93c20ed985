/** The start page of a hub: shows that it is running and how to connect. */
import { batonVersion } from "../base/version.ts";
import { escapeHtml, page } from "./html.ts";

/** Returns the page as HTML. `origin`: the hub's address, for the examples. */
export function frontPage(origin: string): string {
  const at = escapeHtml(origin);
  return page(
    "Baton",
    `<h1>Baton ${escapeHtml(batonVersion())}</h1>
<p>This hub is running. <a href="/reference">Reference</a> · <a href="/openapi.json">OpenAPI</a> · <a href="/schemas">Schemas</a> · <a href="/metrics">Metrics</a></p>
<h2>Claude Code</h2><pre>claude mcp add --transport http baton ${at}/mcp --header "baton-agent: claude"</pre>
<h2>Codex and other MCP clients</h2><pre>${at}/mcp/codex</pre><p>The last path segment is the agent's name.</p>
<h2>SDK</h2><pre>import { openHub } from "batonpass";
const hub = await openHub("${at}");</pre>
<h2>curl</h2><pre>curl ${at}/v1/agents
curl -X POST ${at}/v1/recall -H 'content-type: application/json' -d '{"question":"why did we choose jose?"}'</pre>`,
  );
}

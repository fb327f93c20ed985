/** The start page of a hub: shows that it is running and how to connect. */
import { batonVersion } from "../base/version.ts";
import { escapeHtml, page } from "./html.ts";

/** Returns the page as HTML. `origin`: the hub's address, for the examples. */
export function frontPage(origin: string): string {
  const at = escapeHtml(origin);
  const { hostname, port } = new URL(origin);
  const socket = `~/.baton/hubs/${escapeHtml(hostname)}_${escapeHtml(port)}.sock`;
  return page(
    "Baton",
    `<h1>Baton ${escapeHtml(batonVersion())}</h1>
<p>This hub is running. <a href="/reference">Reference</a> · <a href="/openapi.json">OpenAPI</a> · <a href="/schemas">Schemas</a> · <a href="/metrics">Metrics</a></p>
<p>Metrics and data are shown to browsers that have signed in: open the address that <code>baton login</code> prints.</p>
<h2>Claude Code, Codex</h2><pre>baton setup claude-code
baton setup codex</pre>
<h2>Other MCP clients</h2><pre>baton setup mcp</pre><p>Over HTTP: ${at}/mcp with the header <code>authorization: Bearer &lt;token&gt;</code> of a token that <code>baton token add &lt;agent&gt; --access agent</code> prints.</p>
<h2>SDK</h2><pre>import { openHub } from "batonpass";
const hub = await openHub("${at}"); // finds the token of a hub on this machine by itself</pre>
<h2>curl</h2><pre>curl --unix-socket ${socket} http://localhost/v1/agents
curl ${at}/v1/agents -H "authorization: Bearer $BATON_TOKEN"</pre>`,
  );
}

/** Returns the page for a code that cannot be used. */
export const loginFailedPage = (): string =>
  page(
    "Baton",
    `<h1>Not signed in</h1>
<p>This address was used before, or it is from an earlier start of the hub. Run <code>baton login</code> and open the address it prints.</p>`,
  );

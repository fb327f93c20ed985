/** HTML helpers of the hub's pages: escaping and the page frame. */
const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Returns text with HTML characters escaped. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code,pre{font:14px/1.45 ui-monospace,monospace}pre{padding:.75rem 1rem;border:1px solid #8884;border-radius:6px;overflow-x:auto}
h2{margin-top:2.5rem;border-bottom:1px solid #8884}h3{margin:1.75rem 0 .25rem}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #8882}.method{font-weight:600}
.access{float:right;font-size:13px;opacity:.75}nav a{margin-right:.75rem}`;

/** Returns a complete HTML page. `body` is HTML; `title` is escaped. */
export const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>${body}</body></html>`;

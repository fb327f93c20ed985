/**
 * The files that the coder writes, instead of a language model: a first version with a defect that
 * its test does not cover, and an edit that fixes each finding of the review.
 */

export const HANDLER = "api/users.js";
export const TEST = "api/users.test.js";

/** The declarations for TypeScript callers, once User is defined. */
export const TYPES = "api/types.d.ts";
export const DECLARATIONS = "api/users.d.ts";
export const DECLARED = `import type { Server } from "node:http";

export type { User } from "./types.d.ts";
export const server: Server;
`;

export const FIRST_HANDLER = `import { createServer } from "node:http";

const users = new Map([
  ["1", { id: "1", name: "Ada" }],
  ["2", { id: "2", name: "Grace" }],
]);

export const server = createServer((request, response) => {
  const [, id] = /^\\/users\\/(\\w+)$/.exec(request.url) ?? [];
  const user = users.get(id);
  answer(response, 200, user);
});

function answer(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
`;

export const FIRST_TEST = `import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { server } from "./users.js";

let users;
before(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  users = \`http://127.0.0.1:\${server.address().port}/users\`;
});
after(() => server.close());

test("GET /users/1 answers the user", async () => {
  const response = await fetch(\`\${users}/1\`);
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { id: "1", name: "Ada" });
});
`;

const NOT_FOUND_TEST = `
test("GET /users/99 answers 404 and says why", async () => {
  const response = await fetch(\`\${users}/99\`);
  assert.equal(response.status, 404);
  assert.deepEqual(await response.json(), { error: "There is no user 99" });
});
`;

/** The coder's edits, by the rule of the finding. */
export const FIXES: Readonly<Record<string, (text: string) => string>> = {
  "unknown-id": (text) =>
    text.replace(
      "  answer(response, 200, user);\n",
      `  if (user === undefined) answer(response, 404, { error: \`There is no user \${id}\` });
  else answer(response, 200, user);
`,
    ),
  "untested-404": (text) => text + NOT_FOUND_TEST,
};

/**
 * The examples in the OpenAPI document, compared with the operations and with the output of the
 * generator.
 */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { EXAMPLE_BYTES, generateExamples } from "../../scripts/operation-examples.ts";
import { openApi } from "../../src/http/openapi.ts";
import { referencePage } from "../../src/http/reference-page.ts";
import { operationExamples } from "../../src/operations/examples.ts";
import { OPERATIONS } from "../../src/operations/index.ts";
import { ROOT } from "../support/run-script.ts";

const examples = operationExamples();

describe("src/operations/examples.json", () => {
  it("has an example of every operation and of nothing else", () => {
    expect(Object.keys(examples)).toEqual(OPERATIONS.map(({ name }) => name));
  });

  it.each(OPERATIONS)(
    "has an example that matches the schemas of the operation: $name",
    ({ name, input, output }) => {
      const example = examples[name];
      expect(input.safeParse(example?.input).error).toBeUndefined();
      expect(output.parse(example?.output)).toEqual(example?.output);
      expect(JSON.stringify(example).length).toBeLessThanOrEqual(EXAMPLE_BYTES);
    },
  );

  it("is what the generator writes on every run; if not: npm run docs", async () => {
    const generated = await generateExamples();
    expect(generated).toEqual(examples);
    expect(JSON.stringify(await generateExamples())).toBe(JSON.stringify(generated));
  });

  it("omits missing values instead of writing an empty string", () => {
    const outputs = Object.entries(examples).map(([name, each]) => [name, each.output]);
    const empty = outputs.filter(([, output]) => JSON.stringify(output).includes(':""'));
    expect(empty.map(([name]) => name)).toEqual([]);
  });

  it("contains no access token", () => {
    expect(JSON.stringify(examples)).not.toMatch(/(baton_|ghp_)[\w-]{4}/);
  });
});

describe("the examples of an operation", () => {
  interface Content {
    readonly "application/json": { readonly example?: unknown };
  }
  interface Parameter {
    readonly name?: string;
    readonly example?: unknown;
    readonly content?: Content;
  }
  interface Described {
    readonly operationId: string;
    readonly parameters: readonly Parameter[];
    readonly requestBody?: { readonly content: Content };
    readonly responses: { readonly "200": { readonly content: Content } };
  }
  const { paths } = openApi() as { paths: Record<string, Record<string, Described>> };
  const described = Object.values(paths).flatMap((methods) => Object.values(methods));
  const inJson = (content?: Content): unknown => content?.["application/json"].example;

  it.each(OPERATIONS)(
    "are its whole input and output in the OpenAPI document: $name",
    ({ name }) => {
      const operation = described.find(({ operationId }) => operationId === name);
      const parameters = (operation?.parameters ?? [])
        .map((each) => [each.name, each.example ?? inJson(each.content)])
        .filter(([, example]) => example !== undefined);
      const body = inJson(operation?.requestBody?.content) as object | undefined;
      const { input, output } = examples[name] ?? {};
      expect({ ...Object.fromEntries(parameters), ...body }).toEqual(input);
      expect(inJson(operation?.responses["200"].content)).toEqual(output);
    },
  );

  it("are on the reference page as a curl command", () => {
    const page = referencePage("http://127.0.0.1:4747");
    expect(page.match(/<pre>curl /g)).toHaveLength(OPERATIONS.length);
    expect(page).toContain(
      `curl -X POST &#39;http://127.0.0.1:4747/v1/catch-up&#39; \\\n  -H &quot;authorization: Bearer $BATON_TOKEN&quot; \\\n  -H &#39;content-type: application/json&#39; -d &#39;{&quot;tokens&quot;:4000}&#39;`,
    );
  });
});

describe("the examples file", () => {
  /**
   * Prints how often the file was read when the hub was served, and after its OpenAPI document and
   * reference page were.
   */
  const PROGRAM = `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const read = fs.readFileSync;
    let reads = 0;
    fs.readFileSync = (path, ...rest) => {
      if (String(path).endsWith("examples.json")) reads++;
      return read(path, ...rest);
    };
    syncBuiltinESMExports();
    const { memoryHub } = await import("./src/testing/memory-hub.ts");
    const { httpHub } = await import("./src/http/app.ts");
    await import("./src/client/index.ts");
    await import("./src/cli/run.ts");
    await using opened = memoryHub();
    const http = httpHub(opened.hub, { open: "admin" });
    await http.fetch(new Request("http://127.0.0.1/v1/agents"));
    const before = reads;
    await http.fetch(new Request("http://127.0.0.1/openapi.json"));
    await http.fetch(new Request("http://127.0.0.1/reference"));
    http.close();
    console.log(JSON.stringify([before, reads]));
  `;

  it("is read once, for the OpenAPI document or the reference page", () => {
    const args = ["--input-type=module", "-e", PROGRAM];
    const printed = execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
    expect(JSON.parse(printed)).toEqual([0, 1]);
  });
});

/**
 * Detection of secrets in text: labelled examples, generated from a seed, and texts that only
 * resemble secrets.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { maskSecrets } from "../../src/envelope/mask-secrets.ts";
import { findSecrets, maskMatches } from "../../src/envelope/secrets.ts";
import { seededRandom } from "../../src/testing/seeded-ids.ts";

const SEED = 20_260_301;
let random = seededRandom(SEED);

// Every test draws the same values in any order: about one key in a hundred looks like a
// placeholder.
beforeEach(() => {
  random = seededRandom(SEED + 1);
});

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const UPPER = LOWER.toUpperCase();
const DIGITS = "0123456789";
const HEX = `${DIGITS}abcdef`;
const ALNUM = LOWER + UPPER + DIGITS;

/** Returns random characters. Keys are assembled from them, so that this file contains none. */
function drawn(length: number, from = ALNUM): string {
  return Array.from({ length }, () => from[Math.floor(random() * from.length)]).join("");
}

const jwt = () => ["eyJ", ".eyJ", "."].map((part) => `${part}${drawn(40)}`).join("");
const pem = (kind: string) =>
  `-----BEGIN ${kind}PRIVATE KEY-----\n${drawn(64)}\n${drawn(64)}\n-----END ${kind}PRIVATE KEY-----`;

/** Texts that contain a secret, with the kind that must be reported. */
const POSITIVE: readonly (readonly [kind: string, text: () => string])[] = [
  ["Baton token", () => `baton${"_"}${drawn(43, `${ALNUM}_-`)}`],
  ["Baton token", () => `BATON_TOKEN=baton${"_"}${drawn(43)}`],
  ["AWS access key", () => `Deploy with AKI${"A"}${drawn(16, `${UPPER}234567`)} for now`],
  ["GitHub token", () => `git clone https://gh${"p_"}${drawn(36)}@github.com/acme/app`],
  ["GitHub token", () => `github_${"pat_"}${drawn(22)}_${drawn(59)}`],
  ["GitLab token", () => `glpat${"-"}${drawn(20)}`],
  ["Slack token", () => `xox${"b-"}${drawn(12, DIGITS)}-${drawn(12, DIGITS)}-${drawn(24)}`],
  [
    "Slack webhook",
    () => `https://hooks.slack.com/services/T${drawn(8)}/B${drawn(8)}/${drawn(24)}`,
  ],
  ["Anthropic key", () => `export KEY=sk-${"ant-"}api03-${drawn(90)}`],
  ["OpenAI key", () => `the key is sk-${"proj-"}${drawn(48)}.`],
  ["OpenAI key", () => `sk-${drawn(48)}`],
  ["Stripe key", () => `sk_${"live_"}${drawn(24)}`],
  ["Google key", () => `maps?key=AI${"za"}${drawn(35)}`],
  ["npm token", () => `//registry.npmjs.org/:_authToken=npm${"_"}${drawn(36)}`],
  ["Hugging Face token", () => `hf${"_"}${drawn(34)}`],
  ["DigitalOcean token", () => `dop${"_v1_"}${drawn(64, HEX)}`],
  ["SendGrid key", () => `S${"G."}${drawn(22)}.${drawn(43)}`],
  ["Shopify token", () => `shp${"at_"}${drawn(32, HEX)}`],
  ["Azure account key", () => `AccountName=acme;Account${"Key="}${drawn(86)}==`],
  ["Slack token", () => `xapp${"-1-"}${drawn(11)}-${drawn(13, DIGITS)}-${drawn(40, HEX)}`],
  ["GitLab token", () => `glrt${"-"}${drawn(20)}`],
  ["Groq key", () => `gsk${"_"}${drawn(52)}`],
  ["xAI key", () => `xai${"-"}${drawn(80)}`],
  ["Perplexity key", () => `pplx${"-"}${drawn(48)}`],
  ["Replicate token", () => `r8${"_"}${drawn(37)}`],
  ["Stripe webhook secret", () => `whsec${"_"}${drawn(32)}`],
  ["Google client secret", () => `GOCSPX${"-"}${drawn(28)}`],
  ["Google token", () => `ya29${"."}${drawn(60)}`],
  ["PyPI token", () => `pypi-AgEIcHlwaS5vcmc${drawn(70)}`],
  ["Docker token", () => `dckr_${"pat_"}${drawn(27)}`],
  ["Twilio key", () => `twilio S${"K"}${drawn(32, HEX)}`],
  ["Linear key", () => `lin_${"api_"}${drawn(40)}`],
  ["Notion token", () => `ntn${"_"}${drawn(46)}`],
  ["Databricks token", () => `dap${"i"}${drawn(32, HEX)}`],
  ["Vault token", () => `hvs${"."}${drawn(90)}`],
  ["Sentry token", () => `sntrys${"_"}${drawn(60)}`],
  ["Grafana token", () => `glsa${"_"}${drawn(32)}_${drawn(8, HEX)}`],
  ["Supabase token", () => `sbp${"_"}${drawn(40, HEX)}`],
  ["Postman key", () => `PMAK${"-"}${drawn(24, HEX)}-${drawn(34, HEX)}`],
  ["Atlassian token", () => `ATATT3${drawn(180)}`],
  ["age key", () => `AGE-SECRET-${"KEY-1"}${drawn(58, UPPER + DIGITS)}`],
  ["JSON web token", () => `Cookie: session=${jwt()}`],
  ["private key", () => pem("RSA ")],
  ["private key", () => pem("")],
  ["private key", () => JSON.stringify({ pem: pem("EC ") })],
  ["password in an address", () => `postgres://app:${drawn(12)}@db.internal:5432/app`],
  ["password in an address", () => `redis://:${drawn(16)}7x@cache:6379/0`],
  ["authorization header", () => `curl -H 'Authorization: Bearer ${drawn(39)}7'`],
  ["authorization header", () => `Authorization: Basic ${drawn(29)}7==`],
  ["password", () => `The admin password: ${drawn(10)}4!x`],
  ["password", () => `DB_PASSWORD=${drawn(14)}7`],
  ["password", () => `{"password": "Tr${drawn(8)}9$"}`],
  ["password", () => `the password is "${drawn(9)}8#k"`],
  ["api key", () => `apiKey: "${drawn(31)}7"`],
  ["api key", () => `API_KEY=${drawn(32, HEX)}`],
  ["access key", () => `aws_secret_access_key = ${drawn(39)}7`],
  ["secret", () => `client_secret: ${drawn(35)}7`],
  ["token", () => `CI_TOKEN="${drawn(23)}7"`],
  ["token", () => `refreshToken => '${drawn(43)}7'`],
  ["token", () => `deploy --token ${drawn(31)}7 --force`],
  ["password", () => `mysql --password '${drawn(10)}7#' -u root`],
  ["password", () => JSON.stringify(JSON.stringify({ password: `${drawn(10)}4x` }))],
  ["api key", () => JSON.stringify(JSON.stringify({ env: { API_KEY: `${drawn(31)}7` } }))],
];

const uuid = () => [8, 4, 4, 4, 12].map((length) => drawn(length, HEX)).join("-");

/** Texts that resemble a secret and contain none. */
const NEGATIVE: readonly (() => string)[] = [
  () => "Rotate the API key every 90 days; the token is kept in the vault.",
  () => "password: string",
  () => "const token: number = 12",
  () => "password = process.env.DB_PASSWORD",
  () => "apiKey: options.apiKey",
  () => "Authorization: Bearer <your-token-here>",
  () => `Authorization: Bearer \${TOKEN}`,
  () => "postgres://user:password@localhost:5432/app",
  () => `postgres://app:\${DB_PASSWORD}@db/app`,
  () => "https://example.com:8443/path@v2",
  () => "AWS docs use AKIA" + "IOSFODNN7EXAMPLE",
  () => "Reads keys that begin with -----BEGIN PRIVATE KEY----- and refuses others.",
  () => "api_key: YOUR_API_KEY",
  () => "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxx",
  () => 'secret: "****************"',
  () => "secret: changeme-before-you-deploy-1",
  () => `commit ${drawn(40, HEX)} fixed it`,
  () => `sha256: ${drawn(64, HEX)}`,
  () => `digest ${drawn(64, HEX)}`,
  () => `refs: mem_${uuid()}`,
  () => `token: dlv_${uuid()}`,
  () => `integrity sha512-${drawn(86)}==`,
  () => "tokens: 200000, budget 8000",
  () => "The tokenizer counts 1,204 tokens: more than 1,000.",
  () => "password reset: see docs/password-reset-2026.md",
  () => "secret: rotated-2026-03-01-by-ops",
  () => "passwordHash = await argon2.hash(input)",
  () => "token = request.headers.authorization",
  () => "Use sk-learn for the baseline, then sk-optimize-the-hyperparameters-later.",
  () => "tokenBucket: leaky-bucket-with-100-per-second",
  () => `uuid ${uuid()} was seen twice`,
  () => "access key: control-shift-7 opens the palette",
  () => "credentials: see 1Password, vault Engineering",
  () => 'the password is "too short"',
  () => "https://user@host.example/path:80",
  () => "git@github.com:acme/app.git",
  () => "ssh://git@github.com:22/acme/app.git",
  () => "secret santa: draw names on Friday at 16:00",
  () => "eyJ is how a JSON web token begins",
  () => `data:image/png;base64,${drawn(400)}`,
  () => "PASSWORD_MIN_LENGTH=12",
  () => "token_type: bearer, expires_in: 3600",
  () => "run it with --token-file /run/secrets/ci-token and --password-stdin",
  () => "The password is [redacted: password], the key [redacted: GitHub token].",
  () => "postgres://app:[redacted: password in an address]@db/app",
  () => `baton_${"x".repeat(8)} is too short`,
  () => "sk-SK-locale-and-other-languages-are-translated-later",
  () => `docker image sha256:${drawn(64, HEX)}`,
  () => `handle: dlv_${uuid()}#1`,
  () => "src/components/password-field/PasswordField.test.tsx: 12 passed",
  () => "tokens=8000 key=value secret=none password=none",
];

describe("secrets in a text", () => {
  it.each(POSITIVE)("are detected and named: %s [ENV-12]", (kind, text) => {
    for (let round = 0; round < 20; round++) {
      const said = text();
      expect(
        findSecrets(said).map((found) => found.kind),
        said,
      ).toContain(kind);
    }
  });

  it("are reported once, with their position and without their text [ENV-12]", () => {
    const key = `gh${"p_"}${drawn(36)}`;
    const text = `First: ${key}; then postgres://a:${drawn(12)}9@db/x`;
    const found = findSecrets(text);
    expect(found.map(({ kind }) => kind)).toEqual(["GitHub token", "password in an address"]);
    expect(found[0]?.at).toBe(text.indexOf(key));
    expect(JSON.stringify(found)).not.toContain(key);
  });

  it.each(POSITIVE)("are masked completely, and nothing else is: %s [OPS-6]", (_kind, text) => {
    for (let round = 0; round < 20; round++) {
      const said = text();
      const found = findSecrets(said);
      const rest = maskMatches(said, found);
      // No eight consecutive characters of the secret remain; the text around it does.
      for (const { kind, at, end } of found) {
        for (let i = at; i + 8 <= end; i++) expect(rest).not.toContain(said.slice(i, i + 8));
        expect(rest).toContain(`[redacted: ${kind}]`);
      }
      expect(rest.startsWith(said.slice(0, found[0]?.at)), said).toBe(true);
      expect(rest.endsWith(said.slice(found.at(-1)?.end)), said).toBe(true);
      expect(findSecrets(rest), "what stands in its place is none").toEqual([]);
    }
  });

  it("are detected at the start of a word or after a dash, but not inside a longer word [ENV-12]", () => {
    const key = `gh${"p_"}${drawn(36)}`;
    const long = drawn(5_000);
    for (const before of ["cache-", "a-b-", `${drawn(40)}-`, `${long}-`, `${long} `]) {
      const [found] = findSecrets(before + key);
      expect(found, before).toEqual({
        kind: "GitHub token",
        at: before.length,
        end: before.length + key.length,
      });
    }
    for (const before of ["x", "my_", long]) expect(findSecrets(before + key), before).toEqual([]);
  });

  it("are masked without the address or the name around them [OPS-6]", () => {
    const [password, token] = [`${drawn(11)}7`, `${drawn(23)}7`];
    const text = `postgres://app:${password}@db:5432/app and CI_TOKEN="${token}", then go on`;
    expect(maskMatches(text, findSecrets(text))).toBe(
      'postgres://app:[redacted: password in an address]@db:5432/app and CI_TOKEN="[redacted: token]", then go on',
    );
  });

  it("are masked from the first to the last line, even when they are truncated [OPS-6]", () => {
    const text = `Use this:\n${pem("RSA ")}\nThen restart.`;
    expect(maskMatches(text, findSecrets(text))).toBe(
      "Use this:\n[redacted: private key]\nThen restart.",
    );
    const [first, second] = text.split("-----END");
    expect(second).toBeDefined();
    const cut = `${first}Then restart.`;
    expect(maskMatches(cut, findSecrets(cut))).toBe(
      "Use this:\n[redacted: private key]\nThen restart.",
    );
  });

  it.each([
    "secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf",
    "token: https://vault.internal:8200/v1/kv/data/ci-7/deploy",
    "api_key: op://Prod/Stripe2/api-key",
  ])("are not detected in a reference to a secret store: %s [ENV-12]", (text) => {
    expect(findSecrets(text)).toEqual([]);
  });

  it("are detected with a recall and a precision of at least 0.98 [ENV-12]", () => {
    const rounds = 40;
    let [hit, missed, wrong] = [0, 0, 0];
    const mistakes: string[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const [kind, text] of POSITIVE) {
        const said = text();
        if (findSecrets(said).some((found) => found.kind === kind)) hit++;
        else {
          missed++;
          mistakes.push(said);
        }
      }
      for (const text of NEGATIVE) {
        const said = text();
        if (findSecrets(said).length === 0) continue;
        wrong++;
        mistakes.push(said);
      }
    }
    const recall = hit / (hit + missed);
    const precision = hit / (hit + wrong);
    expect(recall, mistakes.join("\n")).toBeGreaterThanOrEqual(0.98);
    expect(precision, mistakes.join("\n")).toBeGreaterThanOrEqual(0.98);
  });

  it("are detected at the end of very long texts [ENV-12]", () => {
    const begin = "-----BEGIN PRIVATE KEY-----\n";
    for (const part of ["a", "://a:", "password=", "eyJ", begin, "x: y ", "A.", "Bearer ", "sk-"]) {
      const text = begin + part.repeat(Math.ceil(200_000 / part.length));
      expect(findSecrets(`${text} gh${"p_"}${drawn(36)}`).at(-1)?.kind, part).toBe("GitHub token");
    }
  });
});

describe("maskSecrets", () => {
  const token = `gh${"p_"}${drawn(36)}`;

  it("masks texts, fields with sensitive names, and field names that are secrets [OPS-6]", () => {
    const password = `${drawn(10)}7!`;
    const given = {
      content: `Use ${token} here`,
      data: {
        db: { password, hosts: ["a", "b"] },
        env: [{ name: "API_KEY", value: `${drawn(31)}7` }],
        tokens: [`${drawn(24)}1`, "short"],
        [token]: 1,
      },
      count: 3,
      none: null,
      nothing: undefined,
    };
    const { value, secrets } = maskSecrets(given);
    expect(secrets).toEqual([
      { kind: "GitHub token", path: "content" },
      { kind: "password", path: "data.db.password" },
      { kind: "api key", path: "data.env[0].value" },
      { kind: "token", path: "data.tokens[0]" },
      { kind: "GitHub token", path: "data.…" },
    ]);
    expect(value).toEqual({
      content: "Use [redacted: GitHub token] here",
      data: {
        db: { password: "[redacted: password]", hosts: ["a", "b"] },
        env: [{ name: "API_KEY", value: "[redacted: api key]" }],
        tokens: ["[redacted: token]", "short"],
        "[redacted: GitHub token]": 1,
      },
      count: 3,
      none: null,
      nothing: undefined,
    });
    expect(maskSecrets(value), "once is enough").toEqual({ value, secrets: [], ambiguous: [] });
  });

  it("returns the same value when it contains no secrets [OPS-6]", () => {
    const circle: Record<string, unknown> = { name: "a" };
    circle["self"] = [circle, circle];
    for (const value of [undefined, null, 3, "text", [], {}, new Map(), circle, () => 1]) {
      const found = maskSecrets(value);
      expect(found.value).toBe(value);
      expect(found.secrets).toEqual([]);
    }
  });

  it("keeps both fields when two field names are secrets [OPS-6]", () => {
    const { value } = maskSecrets({ [token]: 1, [`gh${"p_"}${drawn(36)}`]: 2 });
    expect(value).toEqual({ "[redacted: GitHub token]": 1, "[redacted: GitHub token] 2": 2 });
  });
});

/** Secrets in text: labelled examples, made up by chance for each run of the seed, and what is none. */
import { describe, expect, it } from "vitest";
import { secretsIn } from "../../src/envelope/secrets.ts";
import { seededRandom } from "../../src/testing/seeded-ids.ts";

const random = seededRandom(20_260_301);
const LOWER = "abcdefghijklmnopqrstuvwxyz";
const UPPER = LOWER.toUpperCase();
const DIGITS = "0123456789";
const HEX = `${DIGITS}abcdef`;
const ALNUM = LOWER + UPPER + DIGITS;

/** Drawn by chance: nobody's. Put together here, so that no key stands in this file. */
function drawn(length: number, from = ALNUM): string {
  return Array.from({ length }, () => from[Math.floor(random() * from.length)]).join("");
}

const jwt = () => ["eyJ", ".eyJ", "."].map((part) => `${part}${drawn(40)}`).join("");
const pem = (kind: string) =>
  `-----BEGIN ${kind}PRIVATE KEY-----\n${drawn(64)}\n${drawn(64)}\n-----END ${kind}PRIVATE KEY-----`;

/** A text for each kind, with the kind it must be told as. */
const POSITIVE: readonly (readonly [kind: string, text: () => string])[] = [
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
  ["JSON web token", () => `Cookie: session=${jwt()}`],
  ["private key", () => pem("RSA ")],
  ["private key", () => pem("")],
  ["private key", () => JSON.stringify({ pem: pem("EC ") })],
  ["password in an address", () => `postgres://app:${drawn(12)}@db.internal:5432/app`],
  ["password in an address", () => `redis://:${drawn(16)}7x@cache:6379/0`],
  ["authorization header", () => `curl -H 'Authorization: Bearer ${drawn(40)}'`],
  ["authorization header", () => `Authorization: Basic ${drawn(30)}==`],
  ["password", () => `The admin password: ${drawn(10)}4!x`],
  ["password", () => `DB_PASSWORD=${drawn(14)}7`],
  ["password", () => `{"password": "Tr${drawn(8)}9$"}`],
  ["password", () => `the password is "${drawn(9)}8#k"`],
  ["api key", () => `apiKey: "${drawn(32)}"`],
  ["api key", () => `API_KEY=${drawn(32, HEX)}`],
  ["access key", () => `aws_secret_access_key = ${drawn(40)}`],
  ["secret", () => `client_secret: ${drawn(36)}`],
  ["token", () => `CI_TOKEN="${drawn(24)}"`],
  ["token", () => `refreshToken => '${drawn(44)}'`],
];

const uuid = () => [8, 4, 4, 4, 12].map((length) => drawn(length, HEX)).join("-");

/** What looks like one and is none. */
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
];

describe("secrets in a text", () => {
  it.each(POSITIVE)("are found and named: %s [ENV-12]", (kind, text) => {
    for (let round = 0; round < 20; round++) {
      const said = text();
      expect(
        secretsIn(said).map((found) => found.kind),
        said,
      ).toContain(kind);
    }
  });

  it("are found where they stand, each once, and never quoted [ENV-12]", () => {
    const key = `gh${"p_"}${drawn(36)}`;
    const text = `First: ${key}; then postgres://a:${drawn(12)}9@db/x`;
    const found = secretsIn(text);
    expect(found.map(({ kind }) => kind)).toEqual(["GitHub token", "password in an address"]);
    expect(found[0]?.at).toBe(text.indexOf(key));
    expect(JSON.stringify(found)).not.toContain(key);
  });

  it.each([
    "secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf",
    "token: https://vault.internal:8200/v1/kv/data/ci-7/deploy",
    "api_key: op://Prod/Stripe2/api-key",
  ])("are not where it is said where one is kept: %s [ENV-12]", (text) => {
    expect(secretsIn(text)).toEqual([]);
  });

  it("are hardly ever missed, and what is none is hardly ever taken for one [ENV-12]", () => {
    const rounds = 40;
    let [hit, missed, wrong] = [0, 0, 0];
    const told: string[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const [kind, text] of POSITIVE) {
        const said = text();
        if (secretsIn(said).some((found) => found.kind === kind)) hit++;
        else {
          missed++;
          told.push(said);
        }
      }
      for (const text of NEGATIVE) {
        const said = text();
        if (secretsIn(said).length === 0) continue;
        wrong++;
        told.push(said);
      }
    }
    const recall = hit / (hit + missed);
    const precision = hit / (hit + wrong);
    expect(recall, told.join("\n")).toBeGreaterThanOrEqual(0.98);
    expect(precision, told.join("\n")).toBeGreaterThanOrEqual(0.98);
  });

  it("are looked for in the longest texts, whatever those are made of [ENV-12]", () => {
    const begin = "-----BEGIN PRIVATE KEY-----\n";
    for (const part of ["a", "://a:", "password=", "eyJ", begin, "x: y ", "A.", "Bearer ", "sk-"]) {
      const text = begin + part.repeat(Math.ceil(200_000 / part.length));
      expect(secretsIn(`${text} gh${"p_"}${drawn(36)}`).at(-1)?.kind, part).toBe("GitHub token");
    }
  });
});

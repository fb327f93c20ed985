/**
 * Formats of keys and tokens that their providers fixed, so that no context is needed to recognize them. A
 * format with a literal prefix is tried only where a word begins with it; the others name a text that they
 * require. Prefixes, alphabets and lengths follow the public rule set of gitleaks.
 *
 * Every pattern takes linear time (test/tooling/patterns.test.ts): a body either ends where the next key could
 * begin, or nothing after it can fail.
 */

/** A format that begins with one of some literal prefixes. */
export interface PrefixedFormat {
  readonly kind: string;
  /** Separated by spaces; each has at least two characters. */
  readonly prefixes: string;
  /** What follows the prefix. Its first group, or all of it, must look random. */
  readonly body: RegExp;
}

/** A format that has no prefix that begins a word. */
export interface HintedFormat {
  readonly kind: string;
  /** A text that every match contains. */
  readonly hint: string;
  /** Its first group, or all of it, must look random. */
  readonly pattern: RegExp;
  /** True if only that group is the secret; it is at the end of the match, and the rest gives the context. */
  readonly last?: true;
}

const UUID = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b/y;
const HEX_32 = /([a-f0-9]{32})\b/y;
const HEX_40 = /([a-f0-9]{40})\b/y;
const HEX_64 = /([a-f0-9]{64})\b/y;

/** Of two prefixes that begin alike, the longer one stands first. */
export const PREFIXED_FORMATS: readonly PrefixedFormat[] = [
  { kind: "Baton token", prefixes: "baton_", body: /([\w-]{40,512})/y },

  // Code hosting and packages
  { kind: "GitHub token", prefixes: "ghp_ gho_ ghu_ ghs_ ghr_", body: /([A-Za-z0-9]{36,255})\b/y },
  { kind: "GitHub token", prefixes: "github_pat_", body: /(\w{40,255})\b/y },
  {
    kind: "GitLab token",
    prefixes:
      "glpat- glrt- gldt- glptt- glcbt- glsoat- glft- glffct- glimt- glagent- gloas- GR1348941",
    body: /([\w-]{20,300}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,9})?)/y,
  },
  { kind: "Bitbucket token", prefixes: "ATBB", body: /([A-Za-z0-9]{28,36})\b/y },
  { kind: "Atlassian token", prefixes: "ATATT3 ATCTT3", body: /([\w=-]{60,255})/y },
  {
    kind: "Sourcegraph token",
    prefixes: "sgp_",
    body: /((?:[a-fA-F0-9]{16}_)?[a-fA-F0-9]{40})\b/y,
  },
  { kind: "npm token", prefixes: "npm_", body: /([A-Za-z0-9]{36})\b/y },
  { kind: "PyPI token", prefixes: "pypi-AgE", body: /([\w-]{50,512})/y },
  { kind: "RubyGems key", prefixes: "rubygems_", body: /([a-f0-9]{48})\b/y },
  { kind: "crates.io token", prefixes: "cio", body: /([A-Za-z0-9]{32})\b/y },
  { kind: "NuGet key", prefixes: "oy2", body: /([a-z0-9]{43})\b/y },
  { kind: "Clojars token", prefixes: "CLOJARS_", body: /([a-z0-9]{60})\b/y },
  { kind: "Docker token", prefixes: "dckr_pat_ dckr_oat_", body: /([\w-]{24,64})/y },
  { kind: "Artifactory key", prefixes: "AKCp", body: /([A-Za-z0-9]{69})\b/y },
  { kind: "Artifactory token", prefixes: "cmVmd", body: /([A-Za-z0-9]{59})\b/y },

  // Cloud, infrastructure and deployment
  { kind: "AWS access key", prefixes: "AKIA ASIA ABIA ACCA", body: /([A-Z2-7]{16})\b/y },
  { kind: "Google key", prefixes: "AIza", body: /([\w-]{35})(?![\w-])/y },
  { kind: "Google client secret", prefixes: "GOCSPX-", body: /([\w-]{24,40})/y },
  { kind: "Alibaba Cloud key", prefixes: "LTAI", body: /([A-Za-z0-9]{12,24})\b/y },
  { kind: "DigitalOcean token", prefixes: "dop_v1_ doo_v1_ dor_v1_", body: HEX_64 },
  { kind: "Heroku key", prefixes: "HRKU-", body: /([\w-]{36,80})/y },
  { kind: "Fly.io token", prefixes: "fo1_", body: /([\w-]{43})/y },
  { kind: "Render key", prefixes: "rnd_", body: /([A-Za-z0-9]{28,40})\b/y },
  { kind: "Netlify token", prefixes: "nfp_ nfc_ nfo_ nfu_", body: /([A-Za-z0-9]{36,40})\b/y },
  { kind: "Scalingo token", prefixes: "tk-us-", body: /([\w-]{48})/y },
  { kind: "Pulumi token", prefixes: "pul-", body: HEX_40 },
  { kind: "Prefect key", prefixes: "pnu_", body: /([A-Za-z0-9]{36})\b/y },
  { kind: "Infracost key", prefixes: "ico-", body: /([A-Za-z0-9]{32})\b/y },
  { kind: "Octopus Deploy key", prefixes: "API-", body: /([A-Z0-9]{25,32})\b/y },
  {
    kind: "CircleCI token",
    prefixes: "CCIPAT_ CCIPRJ_",
    body: /([A-Za-z0-9]{22}_[a-f0-9]{40})\b/y,
  },
  { kind: "Buildkite token", prefixes: "bkua_ bkct_", body: HEX_40 },
  { kind: "Tailscale key", prefixes: "tskey-", body: /([a-z]{3,9}-[A-Za-z0-9-]{20,80})/y },
  { kind: "Databricks token", prefixes: "dapi", body: /([a-f0-9]{32}(?:-\d)?)\b/y },
  { kind: "PlanetScale token", prefixes: "pscale_", body: /((?:pw|tkn|oauth)_[\w.=-]{32,64})/y },
  { kind: "Supabase token", prefixes: "sbp_", body: HEX_40 },
  { kind: "Supabase token", prefixes: "sb_secret_", body: /([\w-]{30,64})/y },
  { kind: "Neon key", prefixes: "napi_", body: /([a-z0-9]{48,80})\b/y },
  { kind: "Snowflake token", prefixes: "sfpat_", body: /([\w-]{40,255})/y },

  // Models and data for them
  { kind: "Anthropic key", prefixes: "sk-ant-", body: /([\w-]{24,255})/y },
  { kind: "OpenRouter key", prefixes: "sk-or-v1-", body: HEX_64 },
  { kind: "Langfuse key", prefixes: "sk-lf-", body: UUID },
  { kind: "OpenAI key", prefixes: "sk-proj- sk-svcacct- sk-admin-", body: /([\w-]{32,255})/y },
  { kind: "OpenAI key", prefixes: "sk-", body: /(?=[\w-]{0,64}\d)([\w-]{32,255})/y },
  { kind: "Groq key", prefixes: "gsk_", body: /([A-Za-z0-9]{40,64})\b/y },
  { kind: "xAI key", prefixes: "xai-", body: /([A-Za-z0-9]{64,128})\b/y },
  { kind: "Perplexity key", prefixes: "pplx-", body: /([A-Za-z0-9]{40,64})\b/y },
  { kind: "Replicate token", prefixes: "r8_", body: /([A-Za-z0-9]{37})\b/y },
  { kind: "Hugging Face token", prefixes: "hf_ api_org_", body: /([A-Za-z0-9]{30,64})\b/y },
  { kind: "Together key", prefixes: "tgp_v1_", body: /([\w-]{40,64})/y },
  { kind: "Fireworks key", prefixes: "fw_", body: /([A-Za-z0-9]{22,32})\b/y },
  { kind: "Cerebras key", prefixes: "csk-", body: /([a-z0-9]{40,64})\b/y },
  { kind: "NVIDIA key", prefixes: "nvapi-", body: /([\w-]{60,80})/y },
  { kind: "Voyage key", prefixes: "pa-", body: /([\w-]{43})(?![\w-])/y },
  { kind: "Jina key", prefixes: "jina_", body: /([a-f0-9]{32}[\w-]{20,40})/y },
  { kind: "Tavily key", prefixes: "tvly-", body: /((?:dev-|prod-)?[A-Za-z0-9]{28,40})\b/y },
  { kind: "Pinecone key", prefixes: "pcsk_", body: /([A-Za-z0-9]{4,8}_[A-Za-z0-9]{40,80})\b/y },
  { kind: "LangSmith key", prefixes: "lsv2_", body: /((?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10})\b/y },

  // Chat, mail and office
  {
    kind: "Slack token",
    prefixes: "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xapp-",
    body: /([A-Za-z0-9-]{20,255})/y,
  },
  { kind: "Brevo key", prefixes: "xkeysib- xsmtpsib-", body: /([a-f0-9]{64}-[A-Za-z0-9]{16})\b/y },
  { kind: "Resend key", prefixes: "re_", body: /([A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,32})\b/y },
  { kind: "Mailgun key", prefixes: "key-", body: HEX_32 },
  { kind: "Twilio key", prefixes: "SK", body: HEX_32 },
  { kind: "Linear key", prefixes: "lin_api_ lin_oauth_", body: /([A-Za-z0-9]{32,80})\b/y },
  { kind: "Notion token", prefixes: "ntn_ secret_", body: /([A-Za-z0-9]{40,64})\b/y },
  { kind: "Figma token", prefixes: "figd_ figo_ figu_ figor_", body: /([\w-]{36,64})/y },
  { kind: "HubSpot token", prefixes: "pat-na1- pat-na2- pat-eu1- pat-ap1-", body: UUID },
  { kind: "Typeform token", prefixes: "tfp_", body: /([\w.=-]{40,80})/y },
  { kind: "Contentful token", prefixes: "CFPAT-", body: /([\w-]{43})/y },
  { kind: "Readme key", prefixes: "rdme_", body: /([a-z0-9]{70})\b/y },
  { kind: "Postman key", prefixes: "PMAK-", body: /([a-f0-9]{24}-[a-f0-9]{34})\b/y },

  // Payment and commerce
  {
    kind: "Stripe key",
    prefixes: "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_",
    body: /([A-Za-z0-9]{16,255})\b/y,
  },
  { kind: "ElevenLabs key", prefixes: "sk_", body: /([a-f0-9]{48})\b/y },
  { kind: "Square token", prefixes: "sq0atp- sq0csp-", body: /([\w-]{22,60})/y },
  { kind: "Square token", prefixes: "EAAA", body: /([\w-]{56,64})(?![\w-])/y },
  { kind: "Facebook token", prefixes: "EAAC EAAM EAAG EAAB", body: /([A-Za-z0-9]{100,512})\b/y },
  { kind: "Shopify token", prefixes: "shpat_ shpca_ shppa_ shpss_", body: /([a-fA-F0-9]{32})\b/y },
  { kind: "Shippo token", prefixes: "shippo_live_ shippo_test_", body: HEX_40 },
  { kind: "EasyPost key", prefixes: "EZAK EZTK", body: /([A-Za-z0-9]{54})\b/y },
  { kind: "Duffel token", prefixes: "duffel_live_ duffel_test_", body: /([\w-]{43})/y },
  { kind: "Flutterwave key", prefixes: "FLWSECK- FLWSECK_TEST-", body: /([a-h0-9]{32}-X)\b/y },
  {
    kind: "Plaid token",
    prefixes: "access-sandbox- access-development- access-production-",
    body: UUID,
  },

  // Operation and secrets
  { kind: "Grafana token", prefixes: "glsa_", body: /(\w{32,64})\b/y },
  { kind: "Sentry token", prefixes: "sntryu_", body: HEX_64 },
  { kind: "New Relic key", prefixes: "NRAK- NRII- NRJS- NRRA-", body: /([A-Za-z0-9]{19,42})\b/y },
  { kind: "Honeycomb key", prefixes: "hcaik_ hcamk_", body: /([a-z0-9]{32,64})\b/y },
  { kind: "Axiom token", prefixes: "xaat- xapt-", body: UUID },
  { kind: "PostHog key", prefixes: "phx_ phs_", body: /([A-Za-z0-9]{40,48})\b/y },
  { kind: "LaunchDarkly key", prefixes: "sdk- api- mob-", body: UUID },
  { kind: "SonarQube token", prefixes: "squ_ sqp_ sqa_", body: HEX_40 },
  { kind: "age key", prefixes: "AGE-SECRET-KEY-1", body: /([0-9A-Z]{58})\b/y },
  { kind: "1Password token", prefixes: "ops_eyJ", body: /([\w+/-]{200,2000}={0,3})/y },
  {
    kind: "1Password secret key",
    prefixes: "A3-",
    body: /([A-Z0-9]{6}-[A-Z0-9]{6}(?:-?[A-Z0-9]{5}){2}-[A-Z0-9]{5}(?:-[A-Z0-9]{5})?)\b/y,
  },
  {
    kind: "JSON web token",
    prefixes: "eyJ",
    body: /[A-Za-z0-9]{8,2000}\.eyJ[\w-]{8,4000}\.([\w-]{16,2000})/y,
  },
];

export const HINTED_FORMATS: readonly HintedFormat[] = [
  // Base64 with + and /, which break the run of letters and digits that a prefix is searched in.
  { kind: "AWS Bedrock key", hint: "ABSK", pattern: /\bABSK([A-Za-z0-9+/]{100,300}={0,2})/g },
  { kind: "Fly.io token", hint: "fm", pattern: /\bfm(?:1[ar]|2)_([A-Za-z0-9+/]{100,2000}={0,3})/g },
  { kind: "Grafana token", hint: "glc_", pattern: /\bglc_([\w+/-]{32,512}={0,2})/g },
  { kind: "Sentry token", hint: "sntrys_", pattern: /\bsntrys_([\w+/=-]{40,512})/g },
  { kind: "Stripe webhook secret", hint: "whsec_", pattern: /\bwhsec_([A-Za-z0-9+/]{24,128})/g },
  { kind: "Google token", hint: "ya29.", pattern: /\bya29\.([\w-]{20,512})/g },
  { kind: "Google refresh token", hint: "1//0", pattern: /\b1\/\/0([\w-]{40,128})/g },
  {
    kind: "Firebase server key",
    hint: ":APA91b",
    pattern: /\bAAAA[\w-]{7}:APA91b([\w-]{120,160})/g,
  },
  { kind: "SendGrid key", hint: "SG.", pattern: /\bSG\.([\w-]{20,32}\.[\w-]{32,64})/g },
  { kind: "Vault token", hint: "hvs.", pattern: /\bhvs\.([\w-]{24,255})/g },
  { kind: "Vault token", hint: "hvb.", pattern: /\bhvb\.([\w-]{24,300})/g },
  {
    kind: "Doppler token",
    hint: "dp.",
    pattern: /\bdp\.(?:pt|st|ct|sa|scim|audit)\.((?:[\w-]{1,32}\.)?[A-Za-z0-9]{40,44})\b/g,
  },
  {
    kind: "Infisical token",
    hint: "st.",
    pattern: /\bst\.([a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32})\b/g,
  },
  { kind: "Dropbox token", hint: "sl.", pattern: /\bsl\.((?:u\.)?[\w=-]{130,512})/g },
  {
    kind: "Dynatrace token",
    hint: "dt0c01.",
    pattern: /\bdt0c01\.([A-Z0-9]{24}\.[A-Z0-9]{64})\b/g,
  },
  {
    kind: "Harness token",
    hint: "at.",
    pattern: /\b[ps]at\.([\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20})\b/g,
  },
  {
    kind: "Terraform token",
    hint: ".atlasv1.",
    pattern: /\b[A-Za-z0-9]{14}\.atlasv1\.([\w=-]{60,70})/g,
  },
  { kind: "Mapbox token", hint: "sk.eyJ", pattern: /\bsk\.eyJ([A-Za-z0-9]{40,200}\.[\w-]{22})/g },
  { kind: "Yandex token", hint: "t1.", pattern: /\bt1\.([\w-]{20,512}={0,2}\.[\w-]{86}={0,2})/g },
  { kind: "Airtable token", hint: "pat", pattern: /\bpat[A-Za-z0-9]{14}\.([a-f0-9]{64})\b/g },
  { kind: "Asana token", hint: ":", pattern: /\b[12]\/\d{16}(?:\/\d{16})?:([a-f0-9]{32})\b/g },
  { kind: "Salesforce token", hint: "!AQ", pattern: /\b00D\w{12,15}!AQ([\w.]{60,120})/g },
  {
    kind: "Cloudflare origin key",
    hint: "v1.0-",
    pattern: /\bv1\.0-([a-f0-9]{24}-[a-f0-9]{146})\b/g,
  },
  {
    kind: "Azure client secret",
    hint: "Q~",
    pattern: /(?<![\w~.-])[\w~.]{3}\dQ~([\w~.-]{31,34})(?![\w~-])/g,
  },
  { kind: "Mailchimp key", hint: "-us", pattern: /\b([a-f0-9]{32})-us\d{1,2}\b/g },
  { kind: "Mailgun key", hint: "-", pattern: /\b([a-f0-9]{32})-[a-f0-9]{8}-[a-f0-9]{8}\b/g },
  { kind: "New Relic license key", hint: "NRAL", pattern: /\b([a-f0-9]{36})NRAL\b/g },
  { kind: "MaxMind key", hint: "_mmk", pattern: /\b([A-Za-z0-9]{6}_[A-Za-z0-9]{29})_mmk\b/g },
  { kind: "OpenShift token", hint: "sha256~", pattern: /\bsha256~([\w-]{43})/g },
  { kind: "Telegram token", hint: ":AA", pattern: /(?<!\d)\d{8,10}:(AA[\w-]{33})(?![\w-])/g },
  {
    kind: "Discord token",
    hint: ".",
    pattern: /\b[MNO][A-Za-z0-9]{23,25}\.[\w-]{6}\.([\w-]{27,38})(?![\w-])/g,
  },
  {
    kind: "Slack webhook",
    hint: "hooks.slack.com/",
    pattern: /\bhooks\.slack\.com\/(?:services|workflows|triggers)\/([A-Za-z0-9+/]{36,80})/g,
    last: true,
  },
  {
    kind: "Discord webhook",
    hint: "/api/webhooks/",
    pattern: /\/api\/webhooks\/\d{17,20}\/([\w-]{60,80})/g,
    last: true,
  },
  {
    kind: "Teams webhook",
    hint: "IncomingWebhook/",
    pattern: /\bIncomingWebhook\/([a-f0-9]{32})/g,
    last: true,
  },
  {
    kind: "Azure account key",
    hint: "Key=",
    pattern: /\b(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,88}={0,2})/g,
    last: true,
  },
  { kind: "Azure signature", hint: "sig=", pattern: /[?&]sig=([\w%+/-]{40,64})/g, last: true },
  {
    kind: "Azure function key",
    hint: "code=",
    pattern: /[?&]code=([\w-]{40,80}={0,2})/g,
    last: true,
  },
];

/**
 * Pairs of decisions, labelled by hand: whether the second contradicts the first. The detection was
 * developed with the first list; the second was written before, and not consulted meanwhile.
 */
export interface Said {
  readonly question: string;
  readonly choice: string;
  readonly rejected?: readonly string[];
}

export interface Pair {
  readonly live: Said;
  readonly said: Said;
  readonly against: boolean;
}

const d = (question: string, choice: string, ...rejected: string[]): Said => ({
  question,
  choice,
  rejected,
});
const against = (live: Said, said: Said): Pair => ({ live, said, against: true });
const beside = (live: Said, said: Said): Pair => ({ live, said, against: false });

export const LOOKED_AT: readonly Pair[] = [
  against(
    d("Which database do we use?", "PostgreSQL", "MongoDB"),
    d("What database should we go with?", "MySQL"),
  ),
  against(
    d("Which database do we use?", "PostgreSQL", "MongoDB"),
    d("Where do orders live?", "MongoDB"),
  ),
  against(
    d("Which cache keeps the sessions?", "Redis"),
    d("Which cache holds sessions?", "Memcached"),
  ),
  against(
    d("How do we authenticate requests?", "JWT in a header", "Session cookies"),
    d("How are requests authenticated?", "Session cookies"),
  ),
  against(
    d("Which language is the API written in?", "TypeScript"),
    d("In which language do we write the API?", "Go"),
  ),
  against(
    d("How long are access tokens valid?", "15 minutes"),
    d("How long is an access token valid?", "60 minutes"),
  ),
  against(
    d("Do we deploy on Fridays?", "We never deploy on Fridays"),
    d("When do we deploy?", "We deploy on Fridays"),
  ),
  against(
    d("Which test runner do we use?", "Vitest", "Jest"),
    d("What runs the unit tests?", "Jest"),
  ),
  against(
    d("What style has the public API?", "REST", "GraphQL"),
    d("What style does our public API have?", "GraphQL"),
  ),
  against(
    d("Are migrations run automatically?", "Yes, migrations run automatically at startup"),
    d("Are migrations run automatically?", "No, migrations run by hand"),
  ),
  against(
    d("Which queue do we use for jobs?", "RabbitMQ", "Kafka"),
    d("Which queue for jobs?", "Kafka", "RabbitMQ"),
  ),
  against(
    d("Which package manager do we use?", "pnpm"),
    d("Which package manager is used?", "npm", "pnpm"),
  ),
  against(
    d("Who owns the billing service?", "The payments team"),
    d("Who is the owner of the billing service?", "The platform team"),
  ),
  against(
    d("How many retries does the client make?", "3"),
    d("How many retries does a client make?", "5"),
  ),
  beside(
    d("Which database do we use?", "PostgreSQL", "MongoDB"),
    d("Which database do we use?", "PostgreSQL 17"),
  ),
  beside(
    d("Which database do we use?", "PostgreSQL", "MongoDB"),
    d("Which cache keeps the sessions?", "Redis"),
  ),
  beside(
    d("Which language is the API written in?", "TypeScript"),
    d("Which language are the deployment scripts written in?", "Bash"),
  ),
  beside(
    d("How long are access tokens valid?", "15 minutes"),
    d("How long are refresh tokens valid?", "30 days"),
  ),
  beside(
    d("Which test runner do we use?", "Vitest", "Jest"),
    d("Which linter do we use?", "Biome", "ESLint"),
  ),
  beside(
    d("How do we authenticate requests?", "JWT in a header", "Session cookies"),
    d("How do we authorize requests?", "By role, in a middleware"),
  ),
  beside(
    d("Which queue do we use for jobs?", "RabbitMQ", "Kafka"),
    d("Which queue do we use for jobs?", "RabbitMQ, with quorum queues"),
  ),
  beside(
    d("Who owns the billing service?", "The payments team"),
    d("Who owns the search service?", "The platform team"),
  ),
  beside(d("Do we deploy on Fridays?", "No"), d("Do we review every change?", "Yes")),
  beside(d("Where do we log to?", "To stdout as JSON"), d("Where are uploads kept?", "In S3")),
  beside(
    d("Which database do we use?", "PostgreSQL", "MongoDB"),
    d("Which database do we use?", "PostgreSQL instead of MongoDB"),
  ),
  beside(
    d("How many retries does the client make?", "3"),
    d("How many workers does the pool have?", "5"),
  ),
  beside(
    d("What style has the public API?", "REST", "GraphQL"),
    d("What format do error bodies have?", "RFC 9457 problem details"),
  ),
  beside(
    d("Which package manager do we use?", "pnpm"),
    d("Which Node version do we support?", "24 and newer"),
  ),
];

export const HELD_OUT: readonly Pair[] = [
  against(
    d("Which message broker carries events?", "NATS"),
    d("What message broker do we use to carry events?", "Redis Streams"),
  ),
  against(
    d("How do we version the API?", "In the path", "In a header"),
    d("How is the API versioned?", "In a header"),
  ),
  against(
    d("What renders the web interface?", "React", "Svelte", "Vue"),
    d("Which framework renders the interface?", "Svelte"),
  ),
  against(
    d("How long do we keep audit logs?", "For one year"),
    d("How long are audit logs kept?", "For 90 days"),
  ),
  against(
    d("Which cloud do we run on?", "AWS", "Google Cloud"),
    d("Where do we host production?", "Google Cloud"),
  ),
  against(
    d("Do we allow force pushes?", "Force pushes to main are forbidden"),
    d("Who may force push?", "Force pushes to main are allowed"),
  ),
  against(
    d("How do we hash passwords?", "argon2id", "bcrypt"),
    d("How are passwords hashed?", "bcrypt"),
  ),
  against(d("What is the default page size?", "50"), d("Which page size is the default?", "100")),
  against(
    d("Is the cache shared between tenants?", "No, each tenant has its own"),
    d("Is the cache shared between tenants?", "Yes, one cache for all tenants"),
  ),
  against(
    d("Which branch do releases come from?", "main"),
    d("From which branch do we release?", "release"),
  ),
  against(
    d("How are secrets stored?", "In Vault"),
    d("Where do we store secrets?", "In environment files", "Vault"),
  ),
  against(
    d("Which format do configuration files have?", "TOML", "YAML"),
    d("What format are config files in?", "YAML"),
  ),
  against(
    d("What do we use for search?", "OpenSearch"),
    d("Which engine do we use for search?", "Meilisearch"),
  ),
  against(
    d("Do endpoints return null fields?", "Null fields are left out"),
    d("Do endpoints return null fields?", "Null fields are included"),
  ),
  beside(
    d("Which message broker carries events?", "NATS"),
    d("Which schema format do events have?", "Avro"),
  ),
  beside(
    d("How do we version the API?", "In the path", "In a header"),
    d("How do we version the database schema?", "With numbered migrations"),
  ),
  beside(
    d("What renders the web interface?", "React", "Svelte"),
    d("What renders the documentation?", "VitePress"),
  ),
  beside(
    d("How long do we keep audit logs?", "For one year"),
    d("How long do we keep debug logs?", "For 7 days"),
  ),
  beside(
    d("Which cloud do we run on?", "AWS", "Google Cloud"),
    d("Which region do we run in?", "eu-central-1"),
  ),
  beside(
    d("How do we hash passwords?", "argon2id", "bcrypt"),
    d("How do we hash passwords?", "argon2id with 64 MiB"),
  ),
  beside(
    d("What is the default page size?", "50"),
    d("What is the default timeout?", "30 seconds"),
  ),
  beside(
    d("Which branch do releases come from?", "main"),
    d("Who approves a release?", "The release manager"),
  ),
  beside(
    d("How are secrets stored?", "In Vault"),
    d("How are secrets rotated?", "Every 30 days, by a job"),
  ),
  beside(
    d("Do we allow force pushes?", "Force pushes to main are forbidden"),
    d("Do we squash commits?", "Commits are squashed on merge"),
  ),
  beside(
    d("What do we use for search?", "OpenSearch"),
    d("What do we use for metrics?", "Prometheus"),
  ),
  beside(
    d("Which format do configuration files have?", "TOML", "YAML"),
    d("Which format do translations have?", "JSON"),
  ),
  beside(
    d("Is the cache shared between tenants?", "No, each tenant has its own"),
    d("Is the cache written through?", "Yes"),
  ),
  beside(
    d("What do we use for search?", "OpenSearch", "Elasticsearch"),
    d("What do we use for search?", "OpenSearch, not Elasticsearch"),
  ),
];

/** Paraphrased contradictions, and similar decisions that are compatible: words alone mislead. */
export const HARD: readonly Pair[] = [
  against(
    d("Where does session state live?", "In Redis"),
    d("What backs user sessions?", "A PostgreSQL table"),
  ),
  against(
    d("How do services talk to each other?", "gRPC"),
    d("What protocol is used between services?", "HTTP with JSON"),
  ),
  against(
    d("Which licence do we publish under?", "MIT"),
    d("What are the licence terms?", "Apache 2.0"),
  ),
  against(
    d("Do we support Windows?", "Only Linux and macOS are supported"),
    d("Which platforms are supported?", "Linux, macOS and Windows"),
  ),
  against(
    d("How do we roll out features?", "Behind flags"),
    d("How are features rolled out?", "All at once with each release"),
  ),
  against(
    d("Which CSS approach do we take?", "Tailwind"),
    d("How do we style components?", "CSS modules", "Tailwind"),
  ),
  against(
    d("How is money represented?", "Integers in cents", "Floating point"),
    d("What type do amounts have?", "Floating point"),
  ),
  against(
    d("Are dependencies pinned?", "Every dependency is pinned to an exact version"),
    d("How do we declare dependencies?", "Dependencies are declared with ranges"),
  ),
  against(
    d("What time zone do we store?", "UTC"),
    d("In which time zone are timestamps stored?", "Europe/Berlin"),
  ),
  against(
    d("What is the coverage threshold?", "80 %"),
    d("Which test coverage do we demand?", "95 %"),
  ),
  beside(
    d("Which database do we use?", "PostgreSQL", "SQLite"),
    d("Which database do we use for tests on a laptop?", "SQLite"),
  ),
  beside(
    d("How do we style components?", "Tailwind", "CSS modules"),
    d("How do we test components?", "In a browser, with Playwright"),
  ),
  beside(
    d("What is the timeout of requests to the bank?", "30 seconds"),
    d("What is the timeout of requests to the printer?", "5 seconds"),
  ),
  beside(
    d("Which port does the API listen on?", "8080"),
    d("Which port does the metrics endpoint listen on?", "9090"),
  ),
  beside(
    d("How do services talk to each other?", "gRPC"),
    d("How do browsers talk to us?", "HTTP with JSON"),
  ),
  beside(
    d("What is the coverage threshold?", "80 %"),
    d("What is the threshold for alerts?", "5 % errors"),
  ),
  beside(d("Who reviews security changes?", "Ana"), d("Who reviews documentation changes?", "Ben")),
  beside(d("Do we support Windows?", "No"), d("Do we support IPv6?", "Yes")),
  beside(
    d("How is money represented?", "Integers in cents", "Floating point"),
    d("How are coordinates represented?", "Floating point"),
  ),
  beside(
    d("Which licence do we publish under?", "MIT"),
    d("Which licences may dependencies have?", "MIT, BSD or Apache 2.0"),
  ),
];

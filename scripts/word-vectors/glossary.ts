/**
 * Technical terms that the sources lack or know with another meaning (docker: a dock worker),
 * explained by words that the sources have. A term that is only in this list gets the mean vector
 * of its explanation; for a term that is frequent in the sources, its own vector counts for half.
 */
const LINES = `
abac: access permission policy authorization
acl: access permission list authorization
adr: architecture decision record document
agentic: agent autonomous automated
ai: artificial intelligence model learning
airflow: workflow schedule pipeline data
ajax: request browser asynchronous javascript
allowlist: allowed list permission
anthropic: artificial intelligence company model
api: interface programming service request
apis: interfaces programming services requests
args: arguments parameters command
async: asynchronous concurrent waiting
atomicity: atomic transaction consistency
auth: authentication login authorization password
authn: authentication login identity
authz: authorization permission access
autocomplete: completion typing suggestion
autoscaling: scaling automatic capacity servers
aws: amazon cloud servers hosting
azure: microsoft cloud servers hosting
backend: server software database service
backfill: fill historical data migration
backlog: backlog queue pending tasks
backoff: retry delay waiting
bash: shell script command terminal
bcrypt: password hash encryption
bigint: integer number large
bool: boolean true false
boolean: true false logical value
bugfix: bug fix repair correction
bundler: bundle package build javascript
callback: function call event handler
changelog: changes list release history
chatbot: conversation assistant automated chat
checkpoint: saved state recovery
checksum: verification hash integrity
ci: build testing automated integration
claude: assistant artificial intelligence model
cli: command terminal interface line
codebase: source code repository software
codec: encoding decoding format
concurrency: concurrent parallel threads simultaneous
config: configuration settings options
configs: configurations settings options
const: constant variable value
coroutine: concurrent function asynchronous
cors: origin browser request security
cpu: processor computing hardware
cron: scheduled periodic job timer
crud: create read update delete database
csrf: forgery request attack security browser
css: style layout page browser
csv: table spreadsheet file comma
daemon: background process service server
datetime: date time timestamp
deadlock: blocked lock waiting threads
debounce: delay repeated event
dedupe: duplicate remove unique
deno: javascript runtime server
dependencies: dependency libraries packages required
deploy: deployment release production servers
deployment: deploy release production servers
deprecate: obsolete discontinued replaced
deps: dependency libraries packages required
deserialize: parse decode object format
dev: development developer programming
devops: operations deployment automation servers
diff: difference change comparison
django: python framework website
dns: domain names internet address
docker: container image virtual deployment
dockerfile: container image build configuration
dom: document browser page elements
dotenv: environment variables settings file
dto: data object transfer structure
embeddings: vectors semantic similarity model
endpoint: address request service server
endpoints: addresses requests services servers
enum: enumeration constant values type
env: environment variable settings
eslint: javascript code style checker
eval: evaluation test measure
failover: backup recovery outage server
fallback: alternative backup replacement
fastapi: python server framework
figma: design interface drawing software
firebase: google database hosting mobile
fixme: broken repair needed
flaky: unreliable unstable intermittent test
frontend: browser interface website user
fts: search text index
gcp: google cloud servers hosting
git: version control repository source
github: repository source code hosting
gitignore: ignored files repository
gitlab: repository source code hosting
golang: programming language compiled
gpt: artificial intelligence language model
gpu: graphics processor hardware
grafana: monitoring dashboard metrics
graphql: query interface data service
grep: search text pattern files
grpc: remote procedure call service protocol
hashmap: dictionary map table
hotfix: urgent fix repair production
html: page markup browser web
http: web protocol request server
https: web protocol secure encryption
iam: identity access permission cloud
ide: editor programming development software
idempotency: repeated safe duplicate request
idempotent: repeated safe duplicate request
init: start setup begin
int: integer number
invariant: condition always true consistency
iops: disk performance throughput
java: programming language virtual machine
javascript: programming language browser scripting
jest: javascript unit testing
jira: issue ticket tracking project
jq: json filter command
json: data format text object
jsonl: data format lines object
jvm: java virtual machine runtime
jwt: token authentication signed login
k8s: container cluster orchestration deployment
kafka: message queue stream events
kanban: board tasks workflow project
kubectl: container cluster command orchestration
kubernetes: container cluster orchestration deployment
lambda: function anonymous serverless
langchain: language model agent framework
latency: delay response slow milliseconds
lexer: parser syntax scanner
lifecycle: stages creation destruction
linter: code style checker warnings
linux: operating system unix server
llm: language model artificial intelligence
llms: language models artificial intelligence
localhost: local machine server address
lockfile: dependency versions fixed file
login: sign password authentication user
logins: sign password authentication users
logout: sign session end user
lru: cache eviction recent
lsp: language editor server protocol
macos: apple operating system desktop
makefile: build commands file
markdown: text format document markup
mcp: tool protocol model context agent
memoize: cache function result
metadata: information description data
microservice: small service server architecture
microservices: small services servers architecture
middleware: layer between server request handler
migrations: migration schema database upgrade
mongo: document database storage
mongodb: document database storage
monorepo: single repository many packages
mutex: lock exclusive threads
mvp: minimum viable product prototype
mysql: relational database server
namespace: name scope separate
nextjs: javascript framework website server
nginx: web server proxy
nodejs: javascript runtime server
nosql: document database storage
npm: package javascript install registry
null: empty missing nothing value
nullable: optional missing empty value
oauth: authorization login access third
observability: monitoring metrics logs tracing
ocr: scanned text recognition image
oidc: identity login authentication
ollama: local language model server
onboarding: introduction training new employee
oom: memory exhausted crash
openai: artificial intelligence company model
opentelemetry: monitoring tracing metrics
orm: database object mapping
otel: monitoring tracing metrics
pagination: pages list results limit
param: parameter argument value
params: parameters arguments values
parser: parse syntax grammar text
payload: message data body content
pdf: document file printed
pgvector: vector database similarity search
php: programming language server website
plaintext: readable text plain
pnpm: package javascript install registry
podman: container image virtual
polyfill: browser compatibility missing feature
postgres: relational database server
postgresql: relational database server
postmortem: incident analysis cause failure
pr: change review merge proposal
prod: production live environment
prometheus: monitoring metrics alerts
protobuf: binary format message schema
proxy: intermediate server forwarding requests
pytest: python unit testing
python: programming language scripting
pytorch: learning neural model training
rag: retrieval search model context
rbac: role permission access authorization
readme: documentation introduction file
rebase: branch merge commits history
redis: memory cache database queue
redux: javascript application state
refactor: restructure rewrite improve code
refactored: restructured rewritten improved code
refactoring: restructuring rewriting improving code
regex: pattern expression matching text
regexp: pattern expression matching text
repo: repository source code project
repos: repositories source code projects
retries: retry repeated attempts again
retry: repeat attempt again failure
rollback: undo revert previous release
rpc: remote procedure call service
ruby: programming language scripting
runbook: operations procedure instructions incident
runtime: execution running program environment
rust: programming language compiled safe
s3: storage files bucket cloud
saas: subscription software service cloud
sdk: development kit library interface
semver: version numbers release compatibility
serialize: encode object format
serverless: cloud function hosting
sha256: hash digest checksum
shard: partition database split
sharding: partition database split
signup: register registration new account user
sla: service agreement availability guarantee
slo: service objective availability target
sqlite: embedded file database relational
sql: query database relational
sre: reliability operations servers incident
ssd: disk storage fast
sse: server events stream
ssh: remote secure shell login
ssl: encryption certificate secure connection
ssr: server rendering page
sso: single sign login identity
staging: test environment before release
standup: daily meeting team status
stderr: error output stream
stdin: input stream
stdout: output stream
subagent: agent assistant helper delegated
submodule: nested repository source
supabase: database hosting authentication
svelte: javascript framework interface
tailwind: style layout page
tcp: network protocol connection
telemetry: monitoring metrics measurements
tensorflow: learning neural model training
terraform: infrastructure provisioning cloud configuration
throughput: capacity rate performance
timeout: time limit expired waiting
timeouts: time limits expired waiting
timestamp: date time recorded
timestamps: dates times recorded
tls: encryption certificate secure connection
todo: task pending remaining list
tokenizer: text splitting words tokens
toml: configuration file format
tracing: trace monitoring requests
triage: prioritize sort issues urgency
ttl: expiry lifetime time limit
tuple: pair values fixed sequence
typecheck: types verification compiler
typescript: javascript programming language types
ubuntu: linux operating system
udp: network protocol packets
ui: user interface screen design
undefined: missing unknown value
uptime: availability running time
uri: web address link identifier
url: web address link
urls: web addresses links
utf8: character text encoding
uuid: unique identifier
ux: user experience design
vite: javascript build development server
vitest: javascript unit testing
vm: virtual machine
vpc: private network cloud
vpn: private network tunnel secure
vscode: editor programming development
vue: javascript framework interface
wal: write log database durability
wasm: binary browser runtime
webhook: notification request event automatic
webhooks: notifications requests events automatic
webpack: javascript build bundle
websocket: connection browser stream message
websockets: connections browser stream messages
whitelist: allowed list permission
wifi: wireless network internet
worktree: working copy branch repository
xml: markup document data format
xss: injection attack browser security script
yaml: configuration file format text
yarn: package javascript install registry
zod: schema validation types
zustand: javascript application state
`;

export const GLOSSARY: ReadonlyMap<string, readonly string[]> = new Map(
  LINES.trim()
    .split("\n")
    .map((line) => {
      const [word = "", explanation = ""] = line.split(": ");
      return [word, explanation.split(" ")] as const;
    }),
);

// The requirements of Baton as data: their ids, texts and status. A proof is claimed in two places.
// A test ends its title with the ids it verifies, as in "a malformed envelope is refused [ENV-5
// DLV-1]"; a test that can be skipped proves nothing. Then the status here is raised: `proved:
// sqlite`, or `proved` once it holds on SQLite and PostgreSQL (or where no storage is involved).
// requirements.test.ts fails when a claim has no such test, and when docs/GUARANTEES.md, which `npm
// run guarantees` writes from this list, is out of date.
//
// One long file, because it is a table that is read from top to bottom or searched by id.

/** `planned` promises nothing yet, even if some tests already name the id. */
export type Status = "planned" | "proved: sqlite" | "proved";

export interface Requirement {
  /** Stable: never renumbered or reused for another requirement. */
  readonly id: string;
  readonly text: string;
  /**
   * Its source: H hivemind-handoffs, S memory-spine-handoff-protocol, M
   * mentisdb-multi-agent-handoff, P handoff-protocol-guide, + our own, beyond all four.
   */
  readonly from: string;
  readonly status: Status;
}

export interface Family {
  readonly prefix: string;
  readonly title: string;
  readonly requirements: readonly Requirement[];
}

export const families = [
  {
    prefix: "ENV",
    title: "the envelope",
    requirements: [
      {
        id: "ENV-1",
        text: "One schema, one place: task context (original intent, current state, what the receiver must do), memory references, execution history (who did what, what was decided, why), constraints, expected outputs (type, format, length, quality criteria).",
        from: "S",
        status: "proved",
      },
      {
        id: "ENV-2",
        text: "Routing and protocol fields: workspace, run, task id, from (agent, instance and its role), to (agent, role or channel), action (`completed`, `failed`, `needs_review`, `needs_input`, `escalated`, `delegated`, …), typed payload, metadata (timestamps, token usage, confidence). What changes per try (attempt, view) lives on the delivery.",
        from: "H P",
        status: "proved",
      },
      {
        id: "ENV-3",
        text: "Work state in the body: done, next, blocked (waiting on), doNotRedo, unresolved decisions, artifacts (paths, PRs, tool outputs; with a digest where there is content).",
        from: "M S",
        status: "proved",
      },
      {
        id: "ENV-4",
        text: "Payload is a typed object, never a bare string. Teams register a schema per payload type (any Standard Schema or JSON Schema); the hub enforces it at every interface.",
        from: "P",
        status: "proved",
      },
      {
        id: "ENV-5",
        text: "A malformed envelope is rejected with every violation named by path, the rule and a hint; nothing is stored, nothing is delivered.",
        from: "P",
        status: "proved",
      },
      {
        id: "ENV-6",
        text: "Immutable: once sent it never changes. Its digest covers every field; an addition is a new envelope that names its parents (one, or several where lines join). Lineage of a task is one query.",
        from: "S",
        status: "proved",
      },
      {
        id: "ENV-7",
        text: "Versioned `major.minor`. A receiver ignores fields it does not know and keeps them when it passes the envelope on. Minor: additive, optional. Major: a migration period in which the sender's envelope can be read in both forms (up- and down-converters, tested against stored fixtures of every version ever shipped). Deprecated fields warn.",
        from: "S",
        status: "proved",
      },
      {
        id: "ENV-8",
        text: "The JSON Schema of every version is published by the package, the HTTP API and the CLI.",
        from: "S P",
        status: "proved",
      },
      {
        id: "ENV-9",
        text: "Hop counter: +1 on each handoff of a task's line, limit configurable (default 10). Past it the line stops, and the coordinator and a human can see why. Retry, redrive, fallback and extension add no hop. A cycle is a repeat with an unchanged payload digest (a review loop that makes progress is none); it is reported with the path.",
        from: "S",
        status: "proved",
      },
      {
        id: "ENV-10",
        text: "Carry-forward ledger: belongs to the task, is kept by the hub, and each envelope snapshots it; child tasks inherit it. The original intent (verbatim, bounded; a longer brief becomes a reference), every `must` constraint and every open decision follow the line to its end. A hop cannot drop one silently: removing needs an explicit release with a reason and the right role.",
        from: "S +",
        status: "proved",
      },
      {
        id: "ENV-11",
        text: "Handing the same task over again (same task, sender, receiver and parent) while the first is open extends it: a new envelope, linked, never a second piece of work. If still `ready`, the old delivery becomes `superseded` and the new one keeps its place; if held, the delivery moves on to the new envelope, the holder is told, and settling against the old one throws `work_extended` and keeps the lease. Two senders reaching one reviewer are two pieces of work.",
        from: "M",
        status: "proved",
      },
      {
        id: "ENV-12",
        text: "Lint: an envelope gets a quality report (missing criteria, no next step, raw transcript pasted in, oversize, secret found, a statement that repeats or contradicts a live decision) with hints; a workspace can make rules binding.",
        from: "+",
        status: "proved",
      },
      {
        id: "ENV-13",
        text: "Payload types (as JSON Schema) and allowed actions are registered in the workspace, through SDK, HTTP, CLI and MCP, and enforced by every process at every interface. A workspace can refuse unregistered types.",
        from: "P +",
        status: "proved",
      },
    ],
  },
  {
    prefix: "MEM",
    title: "shared memory",
    requirements: [
      {
        id: "MEM-1",
        text: "Append-only, hash-chained records: type, content, typed data, agent, instance, session, run, task, tags, concepts, importance, confidence, scope, references, relations, validity time, created time. The hash covers every stored field. `verify` finds any changed, missing or reordered record and names it.",
        from: "M H",
        status: "proved",
      },
      {
        id: "MEM-2",
        text: "A small vocabulary of types that agents really use, open to custom ones: finding, fact, decision, constraint, convention, plan, step, question, lesson, mistake, summary, checkpoint, handoff, action, artifact.",
        from: "M",
        status: "proved",
      },
      {
        id: "MEM-3",
        text: "Relations: continues-from, summarizes, supersedes, corrects, contradicts, supports, derived-from, caused-by, references, branches-from; each optionally valid from/until. Inbound and outbound queries.",
        from: "M",
        status: "proved",
      },
      {
        id: "MEM-4",
        text: "Agent registry: a canonical id that never changes, name, role, owner, description, capabilities, aliases, status, optional Ed25519 key. Every write is checked against it: unknown or disabled agents are refused, an alias resolves to its canonical id, nobody writes as somebody else. Identity is agent + instance (session), so five sessions of one agent stay apart. On a shared file identity is declared unless keyed; behind a hub it is bound to the token.",
        from: "M",
        status: "proved",
      },
      {
        id: "MEM-5",
        text: "Signed records: an agent with a key signs what it appends; verify checks signatures.",
        from: "M +",
        status: "proved",
      },
      {
        id: "MEM-6",
        text: "Pins: facts that always travel (system configuration, user identity, team conventions).",
        from: "S H",
        status: "proved",
      },
      {
        id: "MEM-7",
        text: "Recent context and catch-up prompt: the last N relevant records of a task, agent, session or tag, within a token budget.",
        from: "M S",
        status: "proved",
      },
      {
        id: "MEM-8",
        text: "Ranked search by meaning and by words: full text, vectors, graph expansion (depth and visit limits), recency, importance, confidence; filters on every field; each hit explains its score.",
        from: "H M S",
        status: "proved",
      },
      {
        id: "MEM-9",
        text: "Search-first (precision and recall measured on a labelled set): appending something that is already known is noticed; the writer is offered continues / supersedes / corrects instead of a parallel duplicate. Superseded and corrected records stay readable and stop ranking.",
        from: "M",
        status: "proved",
      },
      {
        id: "MEM-10",
        text: "Branches per agent or run (`run-42/planner`): isolated writes, reads see the branch over its base, explicit merge into the base, conflicts shown and reconciled by relation, abandoned without trace on main, all provenance kept; optional merge when the handoff completes.",
        from: "H M",
        status: "proved",
      },
      {
        id: "MEM-11",
        text: "Scopes and visibility: agent, session, user, team; enforced on every read path (search, graph, refs, envelope, SQL, export), not a tag by convention.",
        from: "M",
        status: "proved",
      },
      {
        id: "MEM-12",
        text: "Trace capture: every agent's actions and outputs can be logged automatically (tool calls, prompts, results), searchable, attached to task and session; kept on prunable session branches, out of default recall and of envelopes.",
        from: "H",
        status: "proved",
      },
      {
        id: "MEM-13",
        text: "Cross-session continuity: another agent, days later, on a fresh process, picks up where the last one stopped with one call.",
        from: "H",
        status: "proved",
      },
      {
        id: "MEM-14",
        text: "SQL: a read-only, workspace-scoped SQL interface over stable views (handoffs with run, from, to, context type, payload, embedding, time; memories, deliveries, tasks …) with `cosine_similarity()` against a bound vector or text, from SDK and CLI. Cannot write, cannot leave the workspace, cannot run long.",
        from: "H",
        status: "proved",
      },
      {
        id: "MEM-15",
        text: "As-of: what was known at time T, or at the moment a given envelope was accepted.",
        from: "M +",
        status: "proved",
      },
      {
        id: "MEM-16",
        text: "Blast radius and undo: downstream = transitive derived-from and references, envelopes and views that showed it, agents that saw it; quarantine with one call takes it out of recall and composition and tells open holders.",
        from: "+",
        status: "proved",
      },
      {
        id: "MEM-17",
        text: "Export and import without loss (JSONL with hashes), and MEMORY.md out and in for people. Backup while running; restore verifies.",
        from: "M",
        status: "proved",
      },
      {
        id: "MEM-18",
        text: "Redaction and retention: a leaked secret is erased everywhere while the chain still verifies (the digest stays, the body goes, who and why is recorded); traces and events have retention rules.",
        from: "+",
        status: "proved",
      },
      {
        id: "MEM-19",
        text: "What a handoff says (every field, including the payload) and what a result returns can be found by recall and by SQL similarity, under the same scopes, redaction and quarantine as memories.",
        from: "H M",
        status: "proved",
      },
    ],
  },
  {
    prefix: "CTX",
    title: "composing the context a receiver gets",
    requirements: [
      {
        id: "CTX-1",
        text: "One call composes: recent memories (N), pins, task state, named references and their bounded neighbourhood in the graph (default depth 2, 50 visits); returns version, token count, memory refs, completeness (references resolved ÷ requested) and, apart from it, coverage (what the budget let in).",
        from: "S M",
        status: "proved",
      },
      {
        id: "CTX-2",
        text: "Token budget, default the receiver's registered window less reserves for system prompt, instructions and work; exact under public tokenizers, otherwise labelled `estimated` with its margin; the result never exceeds it. If the things that must travel do not fit, a clear error says what and by how much.",
        from: "S",
        status: "proved",
      },
      {
        id: "CTX-3",
        text: "Four strategies: full, summary + references, priority trimming, lazy (references only). Priority: pins, must-constraints and open decisions first; old and less relevant dropped first.",
        from: "S",
        status: "proved",
      },
      {
        id: "CTX-4",
        text: "An omission manifest lists what the budget left out, with ids, so that nothing vanishes.",
        from: "+",
        status: "proved",
      },
      {
        id: "CTX-5",
        text: "Relevance per receiver role: a tester, a reviewer and a coder get different selections from the same task; role profiles are configurable.",
        from: "P",
        status: "proved",
      },
      {
        id: "CTX-6",
        text: "Progressive detail: summary → detail → full, on request, per reference. The sender's own summary comes first; otherwise extractive, or by a configured model when there is one.",
        from: "P",
        status: "proved",
      },
      {
        id: "CTX-7",
        text: "Primer: under 2 KB, ready to paste, answers: who am I, which task, what do I do now, what must I not redo. Stored text is fenced as data so that it cannot pose as instructions.",
        from: "M +",
        status: "proved",
      },
      {
        id: "CTX-8",
        text: "Lazy references return the freshest version, and say so when it superseded the one that was sent.",
        from: "S",
        status: "proved",
      },
      {
        id: "CTX-9",
        text: "Partial recovery: unresolved references are retried at the receiver; what stays missing is flagged in the accepted handoff, in the completeness score, and in what the receiver produces next; work goes on.",
        from: "S",
        status: "proved",
      },
      {
        id: "CTX-10",
        text: "Freshness at accept: each reference and file artifact pinned by digest is FRESH, STALE or GONE.",
        from: "+",
        status: "proved",
      },
      {
        id: "CTX-11",
        text: "Raw conversation logs and settled reasoning are kept out of envelopes by default (a reference and a summary go instead).",
        from: "S",
        status: "proved",
      },
      {
        id: "CTX-12",
        text: "The payload is part of the view: rendered, fenced and priced like everything else. If it does not fit, the view has an outline and the exact call that returns the rest, and the manifest lists it. The primer names it.",
        from: "P",
        status: "proved",
      },
      {
        id: "CTX-13",
        text: "A line accumulates: what earlier hops reported (done, doNotRedo, decisions with reasons, artifacts, blockers, `should` constraints, criteria, notes) reaches later receivers without any agent copying it, with ids, within the budget; what is cut is in the manifest. An item ends only when it is resolved or released, with a reason.",
        from: "M S",
        status: "proved",
      },
      {
        id: "CTX-14",
        text: "A later attempt starts where the earlier one stopped: message, what was tried, hints and notes of every earlier attempt, questions with their answers, and decisions with their reasons are in the view, the primer, MCP `accept`, CLI `accept` and the JSON of each.",
        from: "S P",
        status: "proved",
      },
      {
        id: "CTX-15",
        text: "Catch-up and recent show what is current: superseded and corrected records are left out or marked; held work and waiting work are separate; `must` constraints and doNotRedo of held and open tasks are included. One call restores an agent after its context was compacted.",
        from: "M",
        status: "proved",
      },
    ],
  },
  {
    prefix: "DLV",
    title: "delivery",
    requirements: [
      {
        id: "DLV-1",
        text: "Storing the memory, the envelope and its deliveries is one transaction: all or nothing. Acknowledged means it survives power loss.",
        from: "S H +",
        status: "proved",
      },
      {
        id: "DLV-2",
        text: "Direct handoff: the sender can wait for an explicit acknowledgement, with a timeout (default 15 s), repeated tries, a fallback, and parking when exhausted. Without that policy an unclaimed handoff simply stays ready: an agent that is closed overnight finds it in the morning.",
        from: "S H",
        status: "proved",
      },
      {
        id: "DLV-3",
        text: "Broadcast: a channel, several receivers, each with its own state; at-least-once; a slow or dead receiver delays no other.",
        from: "S",
        status: "proved",
      },
      {
        id: "DLV-4",
        text: "Choreography: each agent names its successor; a pipeline can also be configured (rules on action, payload type, result). No coordinator process is needed.",
        from: "S",
        status: "proved",
      },
      {
        id: "DLV-5",
        text: "Addressing a role: one of its agents gets it, exactly one at a time. Unknown receivers are refused at once.",
        from: "+",
        status: "proved",
      },
      {
        id: "DLV-6",
        text: "Lease with fencing token and heartbeat: no two unexpired leases of one delivery overlap in store time, and at most one settlement succeeds; a receiver that dies loses the lease and the work is redelivered; the dead one's late answer is refused (its notes are kept, marked).",
        from: "+",
        status: "proved",
      },
      {
        id: "DLV-7",
        text: "Retries (default 3) with exponential backoff and jitter; then an alternative agent, or the dead-letter queue with the reason and every attempt. Inspect, edit-by-new-envelope, redrive, discard.",
        from: "S",
        status: "proved",
      },
      {
        id: "DLV-8",
        text: "Circuit breaker per receiver (3 consecutive distinct deliveries exhausted; declines and permanent failures do not count; 60 s; half-open probe), shared by all processes.",
        from: "S",
        status: "proved",
      },
      {
        id: "DLV-9",
        text: "Idempotency: the same key sent twice is one handoff, with another body `idempotency_conflict`; a redelivered envelope is recognisable; `once(key, effect)` returns a recorded result and never re-runs it, and says `uncertain` for one begun but not recorded.",
        from: "S",
        status: "proved",
      },
      {
        id: "DLV-10",
        text: "Accepting links the receiver's first record to the handoff (continues-from), and the handoff to what it summarizes: the graph never breaks at the boundary.",
        from: "M",
        status: "proved",
      },
      {
        id: "DLV-11",
        text: "Receipt: an envelope may require that accepting repeats goal, first step and the id of every must-constraint; the hub checks it; the receiver may answer `clarify` or `decline` with a reason. Off by default; ids are checked exactly, goal and first step for presence.",
        from: "+",
        status: "proved",
      },
      {
        id: "DLV-12",
        text: "Delivery truth: stored, seen, accepted, completed are different states with times; the sender can ask or subscribe.",
        from: "+",
        status: "proved",
      },
      {
        id: "DLV-13",
        text: "Waking up without polling: async iterator in process, across processes on one SQLite file, across machines on PostgreSQL, SSE over HTTP. Bounded inbox, paging; per receiver and task no later delivery can be claimed before an earlier one settles.",
        from: "+",
        status: "proved",
      },
      {
        id: "DLV-14",
        text: "Dead-man handoff: when an agent dies mid-work, an envelope marked `reconstructed` is drafted from its notes and trace for the next holder of the same delivery.",
        from: "+",
        status: "proved",
      },
      {
        id: "DLV-15",
        text: "Results: `complete(result)` is validated against the envelope's expected outputs (type, format, length; criteria as a checklist); `sent.completed()` returns it: request and reply.",
        from: "S",
        status: "proved",
      },
      {
        id: "DLV-16",
        text: "Joining: one handoff that opens when all (or any, or n) of several lines have completed, with all their results and parents.",
        from: "+",
        status: "proved",
      },
      {
        id: "DLV-17",
        text: "A person as receiver: approve, answer, edit (as a new envelope), reject, from command line and page; deadlines and reminders as for agents.",
        from: "S +",
        status: "proved",
      },
      {
        id: "DLV-18",
        text: "Cancelling a task or a handoff reaches the holder (`work.signal`), closes its open deliveries, and is recorded.",
        from: "P +",
        status: "proved",
      },
      {
        id: "DLV-19",
        text: "Accept timeouts, deadlines, retries, reminders and fallbacks happen on time while any hub process is running, whether or not an agent polls.",
        from: "S",
        status: "proved",
      },
      {
        id: "DLV-20",
        text: "A worker loop (`agent.work(handler, { concurrency })`) that renews leases, settles by the handler's outcome, stops gracefully, and finishes one piece of work and claims the next in one transaction; handoffs can be sent in batches.",
        from: "+",
        status: "proved",
      },
      {
        id: "DLV-21",
        text: "A new handoff, an answer or a cancellation reaches a busy coding agent within its current turn, at the next tool call.",
        from: "+",
        status: "planned",
      },
      {
        id: "DLV-22",
        text: "A handoff that repeats one that is open or completed (same task or the same work), by any sender, is reported when it is sent, with the id of the earlier one.",
        from: "M",
        status: "proved",
      },
    ],
  },
  {
    prefix: "CRD",
    title: "coordination",
    requirements: [
      {
        id: "CRD-1",
        text: "Shared context every agent can read: project state (files, recent changes, active branch), task queue, decision log, constraints, conventions; kept as keyed memories; writes only by coordinator or memory-keeper, compare-and-set, conflicts refused.",
        from: "P H",
        status: "proved",
      },
      {
        id: "CRD-2",
        text: "Task queue: pending, in progress, done, failed; dependencies; claiming a task is claiming its delivery (one mechanism); nobody does the same task twice. A task is done when closed with no open delivery.",
        from: "P",
        status: "proved",
      },
      {
        id: "CRD-3",
        text: "Failures use the same envelope: error type, class (retryable / permanent), what was attempted, retries made, recovery hints.",
        from: "P",
        status: "proved",
      },
      {
        id: "CRD-4",
        text: "A failure reaches the coordinator, not only the next stage. Policy decides retry, reroute or abort (which cancels every open delivery of the task); the decision is recorded. Silence is a failure too (deadline).",
        from: "P",
        status: "proved",
      },
      {
        id: "CRD-5",
        text: "The coder / reviewer / tester protocol ships as a runnable, tested example: schemas, shared context, three handoffs, a retryable and a permanent failure, a whole endpoint task traced end to end.",
        from: "P",
        status: "proved",
      },
      {
        id: "CRD-6",
        text: "Planner → executor → critic ships as a runnable, tested example on one chain, with aliases.",
        from: "M",
        status: "proved",
      },
      {
        id: "CRD-7",
        text: "Reservations: an agent can say which files or resources it works on; others are warned before they touch them; a reservation ends with its lease.",
        from: "+",
        status: "proved",
      },
      {
        id: "CRD-8",
        text: "Spend limits: a task can limit tokens, cost, turns and time for everything done on it. Usage is reported by traces, hooks and the SDK; the limit holds across processes and machines; at most one call overshoots.",
        from: "+",
        status: "planned",
      },
      {
        id: "CRD-9",
        text: "Reservations can deny: an edit to a path that another agent has reserved is refused by the harness hook, naming the holder and the reason.",
        from: "+",
        status: "planned",
      },
    ],
  },
  {
    prefix: "OPS",
    title: "running it",
    requirements: [
      {
        id: "OPS-1",
        text: "Metrics: handoff latency p50/p95/p99, completeness score, failure rate, hop depth distribution, token utilization; per agent, channel, workspace; Prometheus and OpenTelemetry.",
        from: "S",
        status: "planned",
      },
      {
        id: "OPS-2",
        text: "Tiered alerts: one failure informs, three in a row to one receiver warn, an open breaker or completeness under 80 % is critical; thresholds 95 % / 80 %, 0.5 % / 2 % configurable; webhook, signed.",
        from: "S",
        status: "planned",
      },
      {
        id: "OPS-3",
        text: "Load test command: 100 and 1,000+ concurrent handoffs, latency at each stage.",
        from: "S",
        status: "planned",
      },
      {
        id: "OPS-4",
        text: "Dashboard in the browser: live handoffs, a task's line as a graph, what the receiver saw and what the budget cut, memory search with score explanation, dead letters with redrive, agents, alerts, metrics over time.",
        from: "+",
        status: "planned",
      },
      {
        id: "OPS-5",
        text: "Identity and access: per-agent tokens bound to identity and role; workspaces isolated; loopback by default and no open port without a token; Host/Origin checks.",
        from: "+",
        status: "proved",
      },
      {
        id: "OPS-6",
        text: "Secrets: credentials in envelopes and memories are found before they are stored, and redacted or refused.",
        from: "S +",
        status: "proved",
      },
      {
        id: "OPS-7",
        text: "Interfaces with one meaning: SDK (embedded and remote behind one interface), HTTP + OpenAPI, MCP (stdio and HTTP), CLI. Same names, same errors.",
        from: "S M H",
        status: "proved",
      },
      {
        id: "OPS-8",
        text: "Harnesses: set-up for Claude Code, Codex and other MCP clients in one command; hooks that capture traces, inject the open handoff, constraints and conventions at session start, checkpoint before compaction. All worktrees of one repository share one store.",
        from: "H M P",
        status: "proved",
      },
      {
        id: "OPS-9",
        text: "Frameworks: OpenAI Agents SDK, LangGraph, AI SDK, Mastra, A2A; each tested with that framework's own mock model or client.",
        from: "+",
        status: "planned",
      },
      {
        id: "OPS-10",
        text: "From laptop to team: SQLite by default with no server and no account; the same code on PostgreSQL with many hubs; `promote` moves a workspace across without loss, and back.",
        from: "+",
        status: "planned",
      },
      {
        id: "OPS-11",
        text: "A test kit is exported: scripted agents, virtual clock, in-memory hub, assertions on whole lines of handoffs, so that users test their own pipelines.",
        from: "S",
        status: "proved",
      },
      {
        id: "OPS-12",
        text: "Overview at every interface: `baton status`, `baton watch`, and filterable, paged lists of deliveries, questions and approvals across all agents.",
        from: "+",
        status: "planned",
      },
      {
        id: "OPS-13",
        text: "Audit stream: changes to agents, tokens and settings, denied calls, and administrative reads are recorded append-only and can be exported.",
        from: "+",
        status: "proved",
      },
      {
        id: "OPS-14",
        text: "Tamper evidence can be anchored outside the store: signed chain heads, `verify --expect <head>`, signatures that cover workspace and position, key rotation and revocation.",
        from: "+",
        status: "proved",
      },
      {
        id: "OPS-15",
        text: "Private by default on a shared machine: stores, exports and backups are readable by their owner only, a store in a folder owned by another user is refused, and local callers authenticate.",
        from: "+",
        status: "proved",
      },
    ],
  },
] as const satisfies readonly Family[];

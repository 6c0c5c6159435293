import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { ToolSource } from '../../contract/tool-source.ts'
import type { ReviewRequirement, Risk, Verdict } from '../../domain/decision.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import type { Budgets } from '../../domain/budget.ts'
import type { Heading } from '../../domain/heading.ts'

/** One compiled policy bundle: immutable, swapped as a whole (docs/policy-language.md). */
export interface Snapshot {
  /** SHA-256 (hex) over the sorted (path, content) list. */
  readonly revision: string
  /** The git commit of the bundle's work tree, a label only. */
  readonly commit?: string
  readonly files: readonly BundleFile[]
  /** Warnings only: a bundle with an error never becomes a snapshot. */
  readonly diagnostics: readonly Diagnostic[]
  readonly directory: Directory
  readonly budgets: Partial<Budgets>
  readonly tools: ReadonlyMap<string, ToolContract>
  /** Every rule and every limit of the bundle, for metrics and for the admin view. */
  readonly rules: readonly RuleSummary[]
  /** How many they are, without looking at them. */
  readonly ruleCount: number
  /** Decides one call. Never rejects: an engine error or mismatch is an outcome with verdict `reject`. */
  decide(call: Call): Promise<Outcome>
  /** What a decision about the tool reads of earlier calls. */
  historyNeeds(tool: string): HistoryNeeds
  /** The agent's entry in the directory. */
  agentOf(tenant: string, agent: string): AgentEntry | undefined
  /** May the agent use the tool: both known, and a glob of its directory entry fits. */
  mayUse(agent: AgentEntry | undefined, tool: string): boolean
  /** May any agent of the tenant use the tool? To a tenant whose agents may not, it is as absent as one that never was. */
  knows(tenant: string, tool: string): boolean
  /**
   * What the call does, in one line: by the summary of its contract, or of what the deciding rules read. Total, whatever the payload.
   *
   * @param by the ids of what decided
   * @param tag what stands in the place of a sensitive value
   */
  headingOf(
    call: Pick<Call, 'tool' | 'payload'>,
    by: readonly string[],
    tag: (value: JsonValue) => string,
  ): Heading
  /** Problems of `payload` against the contract's input_schema; of an unknown tool, only texts that are too long. */
  checkPayload(tool: string, payload: JsonObject): readonly PayloadProblem[]
}

export interface BundleFile {
  readonly path: string
  readonly sha256: string
  readonly bytes: number
}

export interface ToolContract {
  readonly name: string
  readonly description: string
  /** The template of what a call does, in one line. */
  readonly summary?: string
  readonly risk: Risk
  readonly reversibility?: string
  readonly labels: readonly string[]
  /** Field paths such as `payload.email`. */
  readonly sensitive: readonly string[]
  readonly inputSchema: JsonObject
  /** Where the tool runs, when it was imported from an MCP server. */
  readonly source?: ToolSource
  /** SHA-256 (hex) of the contract file's content. */
  readonly revision: string
}

export interface RuleSummary {
  readonly id: string
  readonly verdict: Verdict
  readonly mode: 'enforced' | 'shadow'
  readonly file: string
  readonly line: number
}

export interface Directory {
  readonly tenants: ReadonlyMap<string, Tenant>
  /** Names of groups at the identity provider, and what they are called here. */
  readonly groups: ReadonlyMap<string, string>
}

export interface Tenant {
  readonly agents: ReadonlyMap<string, AgentEntry>
  readonly reviewers: ReadonlyMap<string, ReviewerEntry>
}

export interface AgentEntry {
  readonly id: string
  /** Reviewer ids of people answerable for the agent; they never vote on its threads. */
  readonly owners: readonly string[]
  /** Globs; `*` crosses dots. */
  readonly tools: readonly string[]
  readonly signedApprovals: boolean
  readonly tokenTtlMs: number
  readonly preventSelfReview: boolean
  readonly rate?: { readonly calls: number; readonly withinMs: number }
}

export interface ReviewerEntry {
  readonly id: string
  readonly name: string
  readonly email?: string
  /** The identity provider's own id of the person (`sub`). */
  readonly subject?: string
  readonly groups: readonly string[]
  readonly roles: readonly string[]
}

export interface HistoryNeeds {
  readonly task: boolean
  readonly agent: boolean
}

/** What was allowed or approved before: tools, and the labels of their contracts. */
export interface History {
  /** Of the task. */
  readonly taskTools: readonly string[]
  readonly taskLabels: readonly string[]
  /** Of the agent within the last 24 hours. */
  readonly agentTools: readonly string[]
  readonly agentLabels: readonly string[]
}

export const NO_HISTORY: History = { taskTools: [], taskLabels: [], agentTools: [], agentLabels: [] }

export interface Call {
  readonly tool: string
  readonly payload: JsonObject
  readonly tenant: string
  readonly agent: string
  /** Its id; the agent chooses it. */
  readonly task?: string
  readonly workflow?: string
  readonly label?: string
  readonly subject?: string
  readonly riskLevel?: Risk
  /** ms since 1970. */
  readonly at: number
  /** Without it, whatever reads it cannot be checked. */
  readonly history?: History
  /** Limits without room for this call, as `LimitUse.limit`. */
  readonly exceeded?: ReadonlySet<string>
  /** The agent's entry in the directory, where the caller has looked it up. */
  readonly entry?: AgentEntry
}

export interface Outcome {
  readonly verdict: Verdict
  /** max(policyRisk, the agent's risk_level). */
  readonly risk: Risk
  readonly policyRisk: Risk
  /** Reasons of the deciding rules in id order; a rule that fired on UNKNOWN adds what could not be checked. */
  readonly message: string
  /** Deciding ids in code unit order; `unmatched` and `allow_up_to` appear as ids, and codes such as `unknown_tool`. */
  readonly by: readonly string[]
  /** Every rule that fired, enforced and shadow. */
  readonly fired: readonly FiredRule[]
  /** Present when the verdict is review. */
  readonly requirement?: ReviewRequirement
  /** The values of exactly the fields the tool's rules read. */
  readonly reads: readonly FieldRead[]
  /** What the call uses of every limit that applies to it, shadow limits too. Absent when there is none. */
  readonly limits?: readonly LimitUse[]
  /** What the shadow rules and limits that fired would have made of it. Absent when none did. */
  readonly shadow?: ShadowOutcome
  /** Set when the engine failed or disagreed with the rules it ran: counted, and always a reject. */
  readonly fault?: 'engine_error' | 'engine_mismatch'
}

export interface ShadowOutcome {
  readonly verdict: Verdict
  readonly risk: Risk
}

/** One call's part of one limit (docs/policy-language.md, `limit`). */
export interface LimitUse {
  /** Of the limit in the bundle. */
  readonly id: string
  /** The counter's name: the id, and whose it is. */
  readonly limit: string
  readonly windowMs: number
  /** An integer, 0 or more. */
  readonly amount: number
  readonly atMost: number
  readonly mode: 'enforced' | 'shadow'
  /** The amount is that of a sensitive field. */
  readonly sensitive: boolean
}

export interface FiredRule {
  readonly id: string
  readonly verdict: Verdict
  readonly mode: 'enforced' | 'shadow'
  /** Fired only because a condition could not be checked. */
  readonly unknown: boolean
  readonly reason: string
  readonly file: string
  readonly line: number
}

export interface FieldRead {
  readonly field: string
  readonly state: 'value' | 'missing'
  readonly value?: JsonValue
  readonly sensitive: boolean
}

export interface PayloadProblem {
  /** JSON Pointer into the payload, RFC 6901. */
  readonly pointer: string
  readonly message: string
}

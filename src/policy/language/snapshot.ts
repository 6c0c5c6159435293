import type { FieldError } from '../../contract/errors.ts'
import type { Disclose, DiscloseLevels, KeptWords } from './disclose.ts'
import type { Retention } from './retention.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { ToolSource } from '../../contract/tool-source.ts'
import type { ReviewRequirement, Risk, Verdict } from '../../domain/decision.ts'
import type { Proof } from './proof.ts'
import type { LevelView } from './level-view.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import type { Budgets } from '../../domain/budget.ts'
import type { Because } from '../../domain/because.ts'
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
  /** The people and agents in force: without those of a withdrawal. */
  readonly directory: Directory
  /** The rights that a newer directory takes away, while its bundle does not load. */
  readonly withdrawal?: Withdrawal
  readonly budgets: Partial<Budgets>
  /** How reviewers look at calls of each level. */
  readonly views: Readonly<Record<Risk, LevelView>>
  /** Groups that any level names. */
  readonly levelGroups: readonly string[]
  readonly retention: Retention
  /** Words of people and agents that evidence keeps. */
  readonly keeps: KeptWords
  readonly tools: ReadonlyMap<string, ToolContract>
  /** Every rule and every limit of the bundle, for metrics and for the admin view. */
  readonly rules: readonly RuleSummary[]
  /** Number of rules and limits, without building `rules`. */
  readonly ruleCount: number
  /** Decides one call. The promise never rejects: an engine error or mismatch results in the verdict `reject`. */
  decide(call: Call): Promise<Outcome>
  /** Adds to the rules that fired for a call the values that made each one fire. Never throws. */
  withReasons(call: Call, fired: readonly FiredRule[]): readonly FiredRule[]
  /** Returns the parts of the history that a decision about the tool reads. */
  historyNeeds(tool: string): HistoryNeeds
  /** Returns the agent's entry in the directory. */
  agentOf(tenant: string, agent: string): AgentEntry | undefined
  /** Looks up what an agent of the tenant may do with the tool. */
  useOf(tenant: string, agent: AgentEntry | undefined, tool: string): ToolUse
  /** True when agent and tool are known, and a glob of the agent's entry matches the tool. */
  mayUse(agent: AgentEntry | undefined, tool: string): boolean
  /** True when some agent of the tenant may use the tool. Other tenants cannot see that the tool exists. */
  knows(tenant: string, tool: string): boolean
  /**
   * Returns the text of a rule file; undefined when the file does not exist.
   *
   * @param tenant if given, the file must cover a tool that the tenant knows
   */
  ruleText(path: string, tenant?: string): string | undefined
  /** Returns all files; undefined when the bundle has other tenants, which this tenant must not see. */
  textsOf(tenant: string): readonly BundleText[] | undefined
  /**
   * Returns the heading of a call: its contract's summary, or the fields that the deciding rules read. Never throws.
   *
   * @param why the ids of the deciding rules and limits, and the places that made them fire
   * @param tag replaces a sensitive value
   */
  headingOf(
    call: Pick<Call, 'tool' | 'payload'>,
    why: { readonly by: readonly string[]; readonly places: readonly string[] },
    tag: (value: JsonValue) => string,
  ): Heading
  /** Returns the SHA-256 (hex) of the template of a tool's headings; undefined without a template. */
  templateOf(tool: string): string | undefined
  /** Returns problems of `payload` under the contract's input_schema; for an unknown tool, only overlong strings. */
  checkPayload(tool: string, payload: JsonObject): readonly FieldError[]
}

/** The rights that a newer directory takes away from the bundle in force. */
export interface Withdrawal {
  /** SHA-256 (hex) of the newer directory.yaml. */
  readonly digest: string
  /** The whole bundle, without the withdrawal. */
  readonly whole: Snapshot
  /** Reviewers who lost a right, and all reviewers of the bundle; the same for agents. */
  readonly reviewers: { readonly withdrawn: number; readonly all: number }
  readonly agents: { readonly withdrawn: number; readonly all: number }
}

/** A directory that was read and checked without the other files of its bundle. */
export interface NewerDirectory {
  /** SHA-256 (hex) of its bytes. */
  readonly digest: string
  readonly directory: Directory
}

/** The directory of the bundle, whatever a newer one takes away. Only this directory ends sessions. */
export const wholeDirectory = ({ directory, withdrawal }: Snapshot): Directory =>
  withdrawal?.whole.directory ?? directory

/** Says which directory takes away from which bundle; empty without a withdrawal. */
export function withdrawalText({ revision, withdrawal }: Pick<Snapshot, 'revision' | 'withdrawal'>): string {
  if (withdrawal === undefined) return ''
  const { digest, reviewers, agents } = withdrawal
  const counts = Object.entries({ reviewers, agents }).filter(([, { withdrawn }]) => withdrawn > 0)
  const said = counts.map(([what, { withdrawn, all }]) => `${withdrawn} of ${all} ${what}`).join(', ')
  return `withdrawals of ${digest.slice(0, 12)}, rules of ${revision.slice(0, 12)}, ${said}`
}

/** One file of a bundle. The path is relative to the bundle's root, with forward slashes. */
export interface BundleText {
  readonly path: string
  readonly text: string
}

export interface BundleFile {
  readonly path: string
  readonly sha256: string
  readonly bytes: number
}

export interface ToolContract {
  readonly name: string
  readonly description: string
  /** The template of the heading. */
  readonly summary?: string
  readonly risk: Risk
  readonly reversibility?: string
  /** `always`: a call that policy allows needs a proof as well, so that a repeated call runs once. */
  readonly proof?: Proof
  /** The time in which agents report how each call ended, ms; absent when policy expects no report. */
  readonly outcomeMs?: number
  readonly labels: readonly string[]
  /** Field paths such as `payload.email`. */
  readonly sensitive: readonly string[]
  /** The part of some fields that evidence keeps. */
  readonly disclose?: DiscloseLevels
  readonly inputSchema: JsonObject
  /** The MCP server of an imported tool. */
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
  /** Group names of this directory, by their name at the identity provider. */
  readonly groups: ReadonlyMap<string, string>
}

export interface Tenant {
  readonly agents: ReadonlyMap<string, AgentEntry>
  readonly reviewers: ReadonlyMap<string, ReviewerEntry>
}

export interface AgentEntry {
  readonly id: string
  /** Reviewer ids of the agent's owners, who never vote on its threads. */
  readonly owners: readonly string[]
  /** Globs; `*` also matches dots. */
  readonly tools: readonly string[]
  /** Globs of a newer directory, which a tool has to match too. */
  readonly within?: readonly string[]
  readonly signedApprovals: boolean
  readonly tokenTtlMs: number
  readonly preventSelfReview: boolean
  readonly rate?: { readonly calls: number; readonly withinMs: number }
}

export interface ReviewerEntry {
  readonly id: string
  readonly name: string
  readonly email?: string
  /** The person's id at the identity provider (`sub`). */
  readonly subject?: string
  readonly groups: readonly string[]
  readonly roles: readonly string[]
  /** Groups that a newer directory takes away, even from those that an identity provider reports. */
  readonly withdrawn?: readonly string[]
}

/** The entry with the groups that an identity provider reported. */
export const withVouched = (entry: ReviewerEntry, groups: readonly string[]): ReviewerEntry => ({
  ...entry,
  groups: groups.filter((one) => entry.withdrawn?.includes(one) !== true),
})

/** The permission of an agent for a tool. */
export interface ToolUse {
  /** The tool's contract; undefined when no agent of the tenant may use the tool. */
  readonly contract: ToolContract | undefined
  /** True when the agent may use the tool. */
  readonly permitted: boolean
}

export interface HistoryNeeds {
  readonly task: boolean
  readonly agent: boolean
}

/** The tools that were allowed or approved before, and the labels of their contracts. */
export interface History {
  /** Tools of the task. */
  readonly taskTools: readonly string[]
  readonly taskLabels: readonly string[]
  /** Tools of the agent within the last 24 hours. */
  readonly agentTools: readonly string[]
  readonly agentLabels: readonly string[]
}

export const NO_HISTORY: History = { taskTools: [], taskLabels: [], agentTools: [], agentLabels: [] }

export interface Call {
  readonly tool: string
  readonly payload: JsonObject
  readonly tenant: string
  readonly agent: string
  /** Owners to use instead of those in the directory: in tests, `explain` and `diff`. */
  readonly owners?: readonly string[]
  /** The task's id; the agent chooses it. */
  readonly task?: string
  readonly workflow?: string | undefined
  readonly label?: string | undefined
  readonly subject?: string | undefined
  readonly riskLevel?: Risk | undefined
  /** ms since 1970. */
  readonly at: number
  /** The call's history. Without a history, tests of the history are UNKNOWN. */
  readonly history?: History | undefined
  /** The limits without room for this call, named by `LimitUse.limit`. */
  readonly exceeded?: ReadonlySet<string>
  /** The permission of the agent for the tool, if the caller has looked it up. */
  readonly use?: ToolUse | undefined
}

export interface Outcome {
  readonly verdict: Verdict
  /** max(policyRisk, the agent's risk_level). */
  readonly risk: Risk
  readonly policyRisk: Risk
  /**
   * The reasons of the deciding rules, in id order. The reason of a rule that fired on UNKNOWN includes the fields that
   * could not be checked.
   */
  readonly message: string
  /** Deciding ids in code unit order, with `unmatched` and `allow_up_to` as ids; or a code such as `unknown_tool`. */
  readonly by: readonly string[]
  /** Every rule that fired, enforced and shadow. */
  readonly fired: readonly FiredRule[]
  /** Present when the verdict is review. */
  readonly requirement?: ReviewRequirement
  /** The values of the fields that the tool's rules and limits read, and of no other fields. */
  readonly reads: readonly FieldRead[]
  /** The call's use of every limit that applies to it, including shadow limits. Absent without limits. */
  readonly limits?: readonly LimitUse[]
  /** The outcome if shadow rules and limits were enforced. Absent when no shadow rule or limit fired. */
  readonly shadow?: ShadowOutcome
  /**
   * Set when the engine failed or disagreed with the rules it ran. Faults are counted, and the call is always rejected.
   */
  readonly fault?: 'engine_error' | 'engine_mismatch'
}

export interface ShadowOutcome {
  readonly verdict: Verdict
  readonly risk: Risk
}

/** One call's use of one limit (docs/policy-language.md, `limit`). */
export interface LimitUse {
  /** Id of the limit in the bundle. */
  readonly id: string
  /** The counter's name: the limit's id and its scope. */
  readonly limit: string
  readonly windowMs: number
  /** An integer, 0 or more. */
  readonly amount: number
  readonly atMost: number
  readonly mode: 'enforced' | 'shadow'
  /** True when the amount is a sensitive field's value. */
  readonly sensitive: boolean
}

export interface FiredRule {
  readonly id: string
  readonly verdict: Verdict
  readonly mode: 'enforced' | 'shadow'
  /** True when the rule fired only because a condition could not be checked. */
  readonly unknown: boolean
  readonly reason: string
  readonly file: string
  readonly line: number
  /** The risk of the rule, and the values that made it fire. Only held calls have them. */
  readonly risk?: Risk
  readonly because?: readonly Because[]
}

export interface FieldRead {
  readonly field: string
  readonly state: 'value' | 'missing'
  readonly value?: JsonValue
  readonly sensitive: boolean
  /** The part of the value that evidence keeps; `full` when absent. */
  readonly disclose?: Disclose
}

import { defined } from '../../contract/defined.ts'
import { longestMs } from '../language/working-time.ts'
import {
  joinRequirements,
  maxRisk,
  type ReviewRequirement,
  type Risk,
  type Verdict,
} from '../../domain/decision.ts'
import type { CompiledSnapshot } from '../evaluate/compile.ts'
import { schemaDefaults } from '../schema/defaults.ts'
import { factOf, type Fact } from '../language/facts.ts'
import type { FieldIr } from '../language/rule.ts'
import type { Program } from '../evaluate/program.ts'
import type { CompiledLimit } from '../evaluate/run.ts'
import type { Call, LimitUse, Outcome } from '../language/snapshot.ts'
import { createMemory, type Memory, type Who } from './memory.ts'
import { possibleOutcomes, type LimitState } from './possible.ts'
import { recall } from './recall.ts'
import type { Decided, RecordedEvent } from './records.ts'

/** One bundle's decision on one recorded call. A member is absent when the replay cannot determine it. */
export interface Judgement {
  readonly verdict?: Verdict
  readonly risk?: Risk
  readonly by?: readonly string[]
  readonly requirement?: ReviewRequirement
  /** The reasons for absent members: unrecorded fields, uncertain limits and uncertain history. */
  readonly because: readonly string[]
}

/** Replays the records of one tenant under one bundle, in order. */
export interface Replay {
  decide(decided: Decided): Promise<Judgement>
  /** Applies an approval, or the end of an approval. */
  follow(event: Exclude<RecordedEvent, Decided>): void
}

/** @param isComplete the export begins with the tenant's first record, so history and limits are known */
export function createReplay(snapshot: CompiledSnapshot, isComplete: boolean): Replay {
  return new BundleReplay(snapshot, isComplete)
}

/** A call that waits for reviewers in this replay. */
interface Pending {
  readonly who: Who
  readonly uses: readonly LimitUse[]
  readonly vague: readonly CompiledLimit[]
  chargedAt: number | undefined
  /** The judgement of the latest revision. */
  readonly judgement: Judgement
}

/** The effect of a call on the memory. */
interface Effect {
  readonly decided: Decided
  readonly who: Who
  readonly uses: readonly LimitUse[]
  /** Limits for which the call's use is unknown. */
  readonly vague: readonly CompiledLimit[]
}

class BundleReplay implements Replay {
  readonly #snapshot: CompiledSnapshot
  readonly #isComplete: boolean
  readonly #memory: Memory
  readonly #pending = new Map<string, Pending>()
  readonly #longestReviewMs: number

  constructor(snapshot: CompiledSnapshot, isComplete: boolean) {
    this.#snapshot = snapshot
    this.#isComplete = isComplete
    this.#memory = createMemory(snapshot)
    this.#longestReviewMs = Math.max(...Object.values(snapshot.routing.levels).map(longestMs))
  }

  async decide(decided: Decided): Promise<Judgement> {
    const { tenant, agent, task, tool, at } = decided
    const who = { tenant, agent, task, tool }
    const recalled = recall(decided)
    const { history, isVague } = this.#memory.history(who, at)
    const call: Call = { ...recalled.call, history }
    const program = this.#snapshot.programOf(tool)
    const first = await this.#snapshot.decide(call)
    const entry = this.#snapshot.agentOf(tenant, agent)
    if (program === undefined || !this.#snapshot.mayUse(entry, tool)) return judgementOf(first)
    const isVagueHistory = (recorded: Fact['recorded'] | undefined): boolean =>
      (recorded === 'as task history' && (isVague.task || !this.#isComplete)) ||
      (recorded === 'as agent history' && (isVague.agent || !this.#isComplete))
    const isUnknown = (field: FieldIr): boolean =>
      recalled.isUnknown(field) ||
      (recalled.isLoose(field) && hasDefault(program, field)) ||
      isVagueHistory(factOf(field.root)?.recorded)
    const seen = this.#see(program, { call, first, isUnknown })
    const judgement = this.#asRecorded(decided, this.#tightened(decided, await this.#judge(program, seen)))
    this.#remember(judgement, { decided, who, uses: first.limits ?? [], vague: seen.vague })
    return judgement
  }

  /** Uses the risk and the requirement of the held call as minimums, because a revision never lowers them. */
  #tightened({ isRevision, thread = '' }: Decided, judgement: Judgement): Judgement {
    const asked = isRevision ? this.#pending.get(thread)?.judgement : undefined
    return asked === undefined ? judgement : tightened(asked, judgement)
  }

  /** Fills absent members from the record when this bundle made the recorded decision. */
  #asRecorded({ policy, verdict, risk }: Decided, judgement: Judgement): Judgement {
    if (policy !== this.#snapshot.revision || judgement.because.length === 0) return judgement
    return { ...judgement, verdict: judgement.verdict ?? verdict, risk: judgement.risk ?? risk }
  }

  follow({ kind, thread, at }: Exclude<RecordedEvent, Decided>): void {
    const pending = this.#pending.get(thread)
    if (pending === undefined) return
    if (kind === 'approved') {
      pending.chargedAt = at
      this.#allow(pending, at, true)
    } else {
      if (kind !== 'used' && pending.chargedAt !== undefined)
        this.#memory.release(pending.uses, pending.chargedAt, at)
      pending.chargedAt = undefined
      if (kind !== 'resumed') this.#pending.delete(thread)
    }
  }

  #see(program: Program, { call, first, isUnknown }: Omit<Seen, 'unknown' | 'states' | 'vague'>): Seen {
    const states = new Map(
      program.limits.map((limit) => [limit, this.#statesOf(limit, { call, first, isUnknown })]),
    )
    const vague = program.limits.filter((limit) => isVagueLimit(limit, isUnknown))
    const unknown = [...program.fields.values()].filter(isUnknown)
    return { call, first, isUnknown, unknown, states, vague }
  }

  #statesOf(
    limit: CompiledLimit,
    { call, first, isUnknown }: Pick<Seen, 'call' | 'first' | 'isUnknown'>,
  ): readonly LimitState[] {
    if (isVagueLimit(limit, isUnknown)) return ['room', 'full', 'unmeasured']
    const use = first.limits?.find(({ id }) => id === limit.ir.id)
    // `use` is undefined when the limit cannot be measured, or when `missing_means` specifies that the call uses
    // nothing.
    if (use === undefined) return first.fired.some(({ id }) => id === limit.ir.id) ? ['unmeasured'] : ['room']
    const used = this.#memory.used(use, call.at)
    const { least, most } = this.#isComplete ? used : { least: used.least, most: Number.MAX_SAFE_INTEGER }
    if (least + use.amount > use.atMost) return ['full']
    return most + use.amount > use.atMost ? ['room', 'full'] : ['room']
  }

  async #judge(program: Program, seen: Seen): Promise<Judgement> {
    const doubtful = [...seen.states].filter(([limit, list]) => limit.enforced && list.length > 1)
    return seen.unknown.length === 0 && doubtful.length === 0
      ? this.#judgeExactly(seen)
      : this.#judgeVaguely(program, seen, doubtful)
  }

  async #judgeExactly({ call, first, states }: Seen): Promise<Judgement> {
    const full = (first.limits ?? []).filter(({ id }) =>
      [...states].some(([limit, list]) => limit.ir.id === id && list[0] === 'full'),
    )
    if (full.length === 0) return judgementOf(first)
    const exceeded = new Set(full.map(({ limit }) => limit))
    return judgementOf(await this.#snapshot.decide({ ...call, exceeded }))
  }

  /** Returns the members that are equal for all values of unknown fields and all states of uncertain limits. */
  #judgeVaguely(
    program: Program,
    { call, isUnknown, unknown, states }: Seen,
    doubtful: readonly (readonly [CompiledLimit, unknown])[],
  ): Judgement {
    const because = [...unknown.map(({ name }) => name), ...doubtful.map(([limit]) => `limit ${limit.ir.id}`)]
    const { routing, clock, directory } = this.#snapshot
    const facts = { call, tool: program.tool, clock, directory }
    const statesOf = (limit: CompiledLimit): readonly LimitState[] => states.get(limit) ?? ['room']
    const possible = possibleOutcomes({ program, routing, facts, isUnknown, statesOf })
    const [verdict, ...verdicts] = possible?.verdicts ?? []
    const [risk, ...risks] = possible?.risks ?? []
    return {
      because: [...new Set(because)].sort(),
      ...(verdict !== undefined && verdicts.length === 0 ? { verdict } : {}),
      ...(risk !== undefined && risks.length === 0 ? { risk } : {}),
    }
  }

  /**
   * Records the decision's effect on later decisions. A review that only this replay requires has an unknown result.
   */
  #remember(judgement: Judgement, effect: Effect): void {
    const { verdict } = judgement
    const { decided, who, uses, vague } = effect
    const { thread, at, isRevision } = decided
    const wasPending = thread !== undefined && this.#pending.delete(thread)
    if (verdict === 'reject') return
    // This replay does not hold the revised call, so the agent might not have sent this revision.
    const isStray = isRevision && !wasPending
    if (verdict === 'allow' && !isRevision) {
      this.#allow(effect, at, true)
      // the call has a proof, and its charges are released when the proof expires unused
      if (thread !== undefined && decided.verdict === 'allow')
        this.#pending.set(thread, { who, uses, vague, chargedAt: at, judgement })
    } else if (verdict !== undefined && thread !== undefined && !isStray)
      this.#pending.set(thread, { who, uses, vague, chargedAt: undefined, judgement })
    else this.#allow(effect, at + this.#longestReviewMs, false)
  }

  /**
   * Notes and charges a call. An uncertain call is recorded at its latest possible time, and counts as possible from
   * now on.
   */
  #allow({ who, uses, vague }: Pick<Effect, 'who' | 'uses' | 'vague'>, at: number, isSure: boolean): void {
    this.#memory.note(who, at, isSure)
    this.#memory.charge(uses, at, isSure)
    for (const { ir } of vague) this.#memory.chargeVaguely(ir.id, ir.withinMs, at)
  }
}

/** A call, and the gaps of its evidence. */
interface Seen {
  readonly call: Call
  /** The decision as if every limit had room. */
  readonly first: Outcome
  readonly isUnknown: (field: FieldIr) => boolean
  readonly unknown: readonly FieldIr[]
  readonly states: ReadonlyMap<CompiledLimit, readonly LimitState[]>
  readonly vague: readonly CompiledLimit[]
}

function tightened(asked: Judgement, judgement: Judgement): Judgement {
  const { verdict, by } = judgement
  const because = [...new Set([...judgement.because, ...asked.because])].sort()
  const risk = asked.risk && judgement.risk && maxRisk(asked.risk, judgement.risk)
  return { because, ...defined({ verdict, by, risk, requirement: joined(asked, judgement) }) }
}

/**
 * Joins the requirements of a held call and its revision. If policy would now allow the call, the reviewers still
 * decide.
 */
function joined(asked: Judgement, { verdict, requirement }: Judgement): ReviewRequirement | undefined {
  if (verdict === 'allow') return asked.requirement
  return asked.requirement && requirement && joinRequirements(asked.requirement, requirement)
}

function hasDefault({ tool }: Program, { path }: FieldIr): boolean {
  return schemaDefaults(tool.inputSchema, path)?.at(-1) !== undefined
}

function isVagueLimit({ sum, per }: CompiledLimit, isUnknown: Seen['isUnknown']): boolean {
  return [sum, per].some((leaf) => leaf !== undefined && isUnknown(leaf.field))
}

function judgementOf({ verdict, risk, by, requirement }: Outcome): Judgement {
  return { verdict, risk, by, because: [], ...(requirement && { requirement }) }
}

import { RISKS } from '../../domain/decision.ts'
import { FACTS, type FactName } from '../language/facts.ts'
import type { Call } from '../language/snapshot.ts'
import { endOfDate, instantOf } from '../language/time.ts'
import { classify, type Dimension } from './dimension.ts'
import { factDimension } from './facts.ts'
import { askedOfTime, instantsFor } from './instants.ts'
import { payloadDimension, payloadNames } from './payload-dimension.ts'
import { leavesOf, type Leaf, type Side } from './side.ts'
import { uniqueBy } from './values.ts'

export interface Dimensions {
  /** All dimensions; the agent's risk_level is last. */
  readonly all: readonly Dimension[]
  /** Leaves with the same answer for all calls of the tool. */
  readonly constants: readonly Leaf[]
}

/** Returns a dimension for each property that a rule tests or on which the contracts disagree, and for risk_level. */
export function dimensionsOf(sides: readonly [Side, Side], base: Call): Dimensions {
  const leaves = uniqueBy(sides.flatMap(leavesOf), (leaf) => leaf.key)
  const byName = new Map<string, Leaf[]>(payloadNames(sides).map((name) => [`payload.${name}`, []]))
  const constants: Leaf[] = []
  for (const leaf of leaves) {
    const name = dimensionName(leaf)
    if (name === undefined) constants.push(leaf)
    else byName.set(name, [...(byName.get(name) ?? []), leaf])
  }
  const varied = [...byName].sort(([a], [b]) => orderOf(a) - orderOf(b) || (a < b ? -1 : 1))
  const all = varied.map(([name, own]) => create(name, own, { sides, base }))
  return { all: [...all, riskDimension()], constants }
}

/** Returns the name of a leaf's dimension; undefined when all calls of the tool have the same value. */
function dimensionName({ field }: Leaf): string | undefined {
  if (field === 'date') return 'time'
  if (field.root === 'payload') return `payload.${String(field.path[0])}`
  const { put } = FACTS[field.root]
  return put === 'by the contract' ? undefined : put === 'by the time' ? 'time' : field.root
}

/** Returns the rank of a dimension: payload fields, then facts about the caller, then time. */
function orderOf(name: string): number {
  return name.startsWith('payload.') ? 0 : name === 'time' ? 2 : 1
}

interface World {
  readonly sides: readonly [Side, Side]
  readonly base: Call
}

function create(name: string, leaves: readonly Leaf[], world: World): Dimension {
  if (name === 'time') return timeDimension(leaves, world)
  if (name.startsWith('payload.')) return payloadDimension(name.slice('payload.'.length), leaves, world)
  return factDimension(name as FactName, leaves, world.base)
}

function timeDimension(leaves: readonly Leaf[], { sides, base }: World): Dimension {
  const zones = [...new Set(sides.map(({ bundle }) => bundle.ir.head.routing.timezone))]
  const { days, span, doubts } = askedOfTime(leaves, zones.length)
  const edges = days.flatMap((day) => zones.flatMap((zone) => [instantOf(zone, day), endOfDate(zone, day)]))
  const dates = [...leaves.flatMap(({ fromMs }) => fromMs ?? []), ...edges]
  const place: Dimension['place'] = (call, at) => ({ ...call, at: Number(at) })
  const classes = classify(instantsFor(dates, zones, span), {
    leaves,
    callWith: (at) => place(base, at),
    fits: () => [true, true],
  })
  return { name: 'time', leaves, classes, named: new Set(), doubts, place }
}

/**
 * Returns the dimension of risk_level. A missing risk_level counts as `low`, because the agent can only raise the risk.
 */
function riskDimension(): Dimension {
  return {
    name: 'risk_level',
    leaves: [],
    classes: RISKS.map((risk, number) => ({
      number,
      members: [risk],
      truths: new Map(),
      fits: [true, true],
    })),
    named: new Set<string>(RISKS),
    doubts: [],
    place: (call, risk) => {
      const found = RISKS.find((one) => one === risk)
      return found === undefined || found === 'low' ? withoutRisk(call) : { ...call, riskLevel: found }
    },
  }
}

function withoutRisk(call: Call): Call {
  const { riskLevel: _, ...others } = call
  return others
}

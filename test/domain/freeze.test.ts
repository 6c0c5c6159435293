import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  freezeOf,
  type Freezes,
  freezeSince,
  type FreezeScope,
  frozenNow,
  kindOf,
  NEVER_FROZEN,
  withFreeze,
  withoutFreeze,
} from '../../src/domain/freeze.ts'
import { runs } from '../runs.ts'

/** Laws of freezing (docs/operations.md): a freeze stops new calls until it is lifted, and cancels earlier calls. */

const AGENTS = ['a', 'b']
const TOOLS = ['x', 'y']
const SCOPES: readonly FreezeScope[] = [
  {},
  ...AGENTS.map((agent) => ({ agent })),
  ...TOOLS.map((tool) => ({ tool })),
]
const CALLS = AGENTS.flatMap((agent) => TOOLS.map((tool) => ({ agent, tool })))

type Step = { readonly act: 'freeze' | 'unfreeze'; readonly scope: FreezeScope } | { readonly act: 'begin' }

const steps = fc.array(
  fc.oneof(
    fc.record({ act: fc.constantFrom('freeze', 'unfreeze'), scope: fc.constantFrom(...SCOPES) }),
    fc.constant({ act: 'begin' } as const),
  ),
  { maxLength: 30 },
) as fc.Arbitrary<readonly Step[]>

const hits = ({ agent, tool }: FreezeScope, call: { agent: string; tool: string }): boolean =>
  (agent ?? call.agent) === call.agent && (tool ?? call.tool) === call.tool
const nameOf = (scope: FreezeScope): string => JSON.stringify(scope)

function take(freezes: Freezes, step: Step, at: number): Freezes {
  if (step.act === 'begin') return freezes
  if (step.act === 'freeze')
    return withFreeze(freezes, { ...step.scope, reason: `r${at}`, at, by: 'admin:admin' })
  return withoutFreeze(freezes, step.scope, at) ?? freezes
}

/** The epoch that a new call records; a call from before the first freeze records no epoch. */
const epochOf = ({ epoch }: Freezes): { freeze_epoch?: number } =>
  epoch === 0 ? {} : { freeze_epoch: epoch }

describe('freezes', () => {
  it('freezes stop new calls exactly while a freeze covers them, and cancel earlier calls for good', () => {
    fc.assert(
      fc.property(steps, (history) => {
        let freezes = NEVER_FROZEN
        /** The model: the frozen scopes, and the calls that began, each with a mark once a freeze has cancelled it. */
        const frozen = new Set<string>()
        const begun: { agent: string; tool: string; freeze_epoch?: number; dead: boolean }[] = []
        for (const [at, step] of history.entries()) {
          const after = take(freezes, step, at)
          if (step.act === 'begin')
            begun.push(...CALLS.map((call) => ({ ...call, ...epochOf(after), dead: false })))
          else if (step.act === 'freeze') frozen.add(nameOf(step.scope))
          const acted =
            step.act === 'freeze' || (step.act === 'unfreeze' && frozen.delete(nameOf(step.scope)))
          if (step.act !== 'begin' && acted)
            for (const one of begun) if (hits(step.scope, one)) one.dead = true
          freezes = after
          for (const call of CALLS) {
            const stopped = SCOPES.some((scope) => frozen.has(nameOf(scope)) && hits(scope, call))
            expect(freezeOf(freezes, call) !== undefined).toBe(stopped)
          }
          for (const one of begun) expect(freezeSince(freezes, one) !== undefined).toBe(one.dead)
          expect(frozenNow(freezes)).toHaveLength(frozen.size)
        }
      }),
      { numRuns: runs(2_000) },
    )
  })

  it('freezes count up, so that lifting a freeze revives nothing, and keep one entry per scope', () => {
    const first = withFreeze(NEVER_FROZEN, { agent: 'a', reason: 'odd', at: 1, by: 'admin:admin' })
    const again = withFreeze(first, { agent: 'a', reason: 'odder', at: 2, by: 'admin:admin' })
    const lifted = withoutFreeze(again, { agent: 'a' }, 3)
    expect([first.epoch, again.epoch, lifted?.epoch]).toEqual([1, 2, 3])
    expect(lifted?.freezes).toEqual([
      { agent: 'a', reason: 'odder', at: 2, by: 'admin:admin', epoch: 3, lifted_at: 3 },
    ])
    expect(withoutFreeze(lifted ?? NEVER_FROZEN, { agent: 'a' }, 4)).toBeUndefined()
    expect(withoutFreeze(again, { tool: 'a' }, 4)).toBeUndefined()
  })

  it('freezes report the reason of the widest freeze', () => {
    const agent = withFreeze(NEVER_FROZEN, { agent: 'a', reason: 'one agent', at: 1, by: 'admin:admin' })
    const both = withFreeze(agent, { reason: 'everything', at: 2, by: 'admin:admin' })
    expect(freezeOf(both, { agent: 'a', tool: 'x' })?.reason).toBe('everything')
  })
  it('freezes cover an agent, a tool or a whole tenant', () => {
    expect([{ agent: 'a' }, { tool: 'x' }, {}].map(kindOf)).toEqual(['agent', 'tool', 'tenant'])
  })
})

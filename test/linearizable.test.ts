import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkLinearizable } from './linearizable.ts'
import type { Model, Operation } from './linearizable.ts'

type RegisterInput = { readonly write: number } | 'read'

/** A number that is written and read. */
const register: Model<number, RegisterInput, number | 'ok'> = {
  initial: 0,
  next(state, input, output) {
    if (input !== 'read') return [input.write]
    return output === undefined || output === state ? [state] : []
  },
}

/** A token that may be used once. */
const token: Model<'fresh' | 'used', 'use', boolean> = {
  initial: 'fresh',
  next(state, _input, output) {
    const works = state === 'fresh'
    return output === undefined || output === works ? ['used'] : []
  },
}

function operation<Input extends RegisterInput | 'use', Output extends number | 'ok' | boolean>(
  call: number,
  returned: number | undefined,
  input: Input,
  output?: Output,
): Operation<Input, Output> {
  return { call, return: returned, input, ...(output !== undefined && { output }) }
}

function unknownWrite(call: number, write: number): Operation<RegisterInput, number | 'ok'> {
  return { call, return: undefined, input: { write } }
}

const holds = (history: Operation<RegisterInput, number | 'ok'>[]): boolean | undefined =>
  checkLinearizable(history, register).linearizable
const usable = (history: Operation<'use', boolean>[]): boolean | undefined =>
  checkLinearizable(history, token).linearizable

describe('the linearizability checker', () => {
  it('accepts an empty history and a sequential one', () => {
    expect(holds([])).toBe(true)
    expect(
      holds([operation(0, 1, 'read', 0), operation(2, 3, { write: 5 }, 'ok'), operation(4, 5, 'read', 5)]),
    ).toBe(true)
  })

  it('accepts reads on either side of a concurrent write, and returns an order', () => {
    const verdict = checkLinearizable(
      [operation(0, 10, { write: 1 }, 'ok'), operation(1, 2, 'read', 0), operation(3, 4, 'read', 1)],
      register,
    )
    expect(verdict).toEqual({ linearizable: true, order: [1, 0, 2] })
  })

  it('refuses a stale read', () => {
    expect(holds([operation(0, 1, { write: 1 }, 'ok'), operation(2, 3, 'read', 0)])).toBe(false)
  })

  it('refuses two reads that see a write appear and disappear', () => {
    expect(
      holds([operation(0, 10, { write: 1 }, 'ok'), operation(1, 2, 'read', 1), operation(3, 4, 'read', 0)]),
    ).toBe(false)
  })

  it('accepts a token that one of many callers redeemed', () => {
    expect(
      usable([operation(0, 9, 'use', false), operation(1, 8, 'use', true), operation(2, 7, 'use', false)]),
    ).toBe(true)
  })

  it('refuses a token that was redeemed twice, and one that no caller could redeem', () => {
    expect(usable([operation(0, 5, 'use', true), operation(1, 6, 'use', true)])).toBe(false)
    expect(usable([operation(0, 5, 'use', false), operation(1, 6, 'use', false)])).toBe(false)
  })

  it('refuses a refusal that came before the only redemption began', () => {
    expect(usable([operation(0, 1, 'use', false), operation(2, 3, 'use', true)])).toBe(false)
  })

  it('accepts an unknown outcome as done, as not done, and as done later', () => {
    const lost = operation<'use', boolean>(0, undefined, 'use')
    expect(usable([lost, operation(5, 6, 'use', false)])).toBe(true)
    expect(usable([lost, operation(5, 6, 'use', true)])).toBe(true)
    expect(usable([lost, operation(5, 6, 'use', true), operation(7, 8, 'use', true)])).toBe(false)
    expect(holds([unknownWrite(0, 3), operation(1, 2, 'read', 0), operation(3, 4, 'read', 3)])).toBe(true)
  })

  it('an unknown outcome takes effect only after its call', () => {
    expect(holds([operation(0, 1, 'read', 3), unknownWrite(2, 3)])).toBe(false)
  })

  it('reports an unknown result when it gives up', () => {
    const history = Array.from({ length: 9 }, (_, i) => operation(0, 9, { write: i }, 'ok' as const))
    expect(checkLinearizable(history, register, { maxSteps: 3 }).linearizable).toBeUndefined()
  })

  it('agrees with trying every order, on random histories', () => {
    const random = fc.record({
      call: fc.nat(12),
      length: fc.integer({ min: 1, max: 8 }),
      unknown: fc.nat(4).map((n) => n === 0),
      input: fc.oneof(fc.constant('read' as const), fc.record({ write: fc.integer({ min: 1, max: 2 }) })),
      output: fc.nat(2),
    })
    let refused = 0
    fc.assert(
      fc.property(fc.array(random, { maxLength: 5 }), (drawn) => {
        const history = drawn.map(({ call, length, unknown, input, output }) =>
          unknown
            ? operation<RegisterInput, number | 'ok'>(call, undefined, input)
            : operation<RegisterInput, number | 'ok'>(
                call,
                call + length,
                input,
                input === 'read' ? output : 'ok',
              ),
        )
        const wanted = bruteForce(history, 0)
        if (!wanted) refused += 1
        expect(holds(history)).toBe(wanted)
      }),
      { numRuns: 2_000, seed: 7 },
    )
    expect(refused).toBeGreaterThan(100)
  })

  it('checks 400 overlapping operations of 8 callers quickly', () => {
    const history: Operation<RegisterInput, number | 'ok'>[] = []
    let state = 0
    for (let i = 0; i < 400; i++) {
      const write = i % 3 === 0
      if (write) state = i
      history.push(operation(i - 4, i + 4, write ? { write: i } : 'read', write ? ('ok' as const) : state))
    }
    expect(holds(history)).toBe(true)
  })
})

/** Tries every order of the operations, leaving out unknown ones at will. */
function bruteForce(rest: readonly Operation<RegisterInput, number | 'ok'>[], state: number): boolean {
  if (rest.every((each) => each.return === undefined)) return true
  return rest.some((each) => {
    const others = rest.filter((other) => other !== each)
    if (others.some((other) => (other.return ?? Infinity) < each.call)) return false
    return register.next(state, each.input, each.output).some((next) => bruteForce(others, next))
  })
}

import { readdirSync, readFileSync } from 'node:fs'
import { expect, expectTypeOf, it } from 'vitest'
import type * as Contract from '../../src/contract/agent.ts'
import type { GateOptions, Guard, GuardOptions, Payload } from '@countersign/sdk'
import type * as Sdk from '../../packages/sdk/src/types.ts'

const FOLDER = new URL('../../packages/sdk/src/', import.meta.url)

/** Maps named JSON types and plain objects to one type, so that they compare equal. */
type Plain<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer Item)[]
    ? Plain<Item>[]
    : string extends keyof T
      ? 'open object'
      : keyof T extends never
        ? 'open object'
        : { [Member in keyof T]: Plain<T[Member]> }

it('the SDK types match the contract (checked by the compiler)', () => {
  expectTypeOf<Plain<Sdk.DecisionRequest>>().toEqualTypeOf<Plain<Contract.DecisionRequest>>()
  expectTypeOf<Plain<Sdk.Decision>>().toEqualTypeOf<Plain<Contract.Decision>>()
  expectTypeOf<Plain<Sdk.ApprovalValidationRequest>>().toEqualTypeOf<
    Plain<Contract.ApprovalValidationRequest>
  >()
  expectTypeOf<Plain<Sdk.ApprovalValidationResult>>().toEqualTypeOf<
    Plain<Contract.ApprovalValidationResult>
  >()
  expectTypeOf<Plain<Sdk.AgentEvent>>().toEqualTypeOf<Plain<Contract.AgentEvent>>()
  expectTypeOf<Plain<Sdk.EventReceipt>>().toEqualTypeOf<Plain<Contract.EventReceipt>>()
  expectTypeOf<Plain<Sdk.ResolveResult>>().toEqualTypeOf<Plain<Contract.ResolveResult>>()
})

it('options accept undefined, and `fetch` fits any caller (checked by the compiler)', () => {
  type Own = (url: string, init: RequestInit) => Promise<Response>
  expectTypeOf<typeof fetch>().toExtend<NonNullable<GateOptions['fetch']>>()
  expectTypeOf<Own>().toExtend<NonNullable<GateOptions['fetch']>>()
  const absent = { fetch: undefined, timeoutMs: undefined, taskId: undefined, maxWaitMs: undefined }
  expectTypeOf<typeof absent & { url: string; key: string }>().toExtend<GateOptions>()
  expectTypeOf<{ signal: undefined; taskId: undefined; maxWaitMs: undefined }>().toExtend<
    GuardOptions<Payload>
  >()
})

interface Line {
  sku: string
  count: number
}
interface Order {
  id: string
  lines: Line[]
  note?: string
}
class Point {
  x = 1
  norm(): number {
    return this.x
  }
}

it('a payload may be declared by an interface or a type, and is JSON (checked by the compiler)', () => {
  const uses = (guard: Guard, order: Order, open: Payload): Promise<unknown>[] => [
    guard('shop.order', order, ({ lines }) => lines.map(({ sku }) => sku)),
    guard('shop.order', { order }, (payload) => payload.order.id, { revise: (_, payload) => payload }),
    guard('shop.order', open, (payload) => payload['id']),
    guard('shop.order', { id: 'o-1', lines: [] } as { id: string; lines: Line[] }, ({ id }) => id),
    guard('shop.order', { at: new Date(0), count: 1n }, ({ at, count }) => [at.getTime(), count + 1n]),
    guard('shop.order', { note: undefined } as { note?: string | undefined }, ({ note }) => note),
    guard('shop.order', { lines: new Map([['a', new Set([1])]]) }, ({ lines }) => lines.get('a')?.size),
    // @ts-expect-error methods are not copied
    guard('shop.order', new Point(), () => 1),
    // @ts-expect-error no function is copied
    guard('shop.order', { run: () => 1 }, () => 1),
    // @ts-expect-error arguments have names
    guard('shop.order', ['o-1'], () => 1),
  ]
  const generic = <P extends Payload>(guard: Guard, payload: P): Promise<P> =>
    guard('shop.order', payload, (same) => same)
  expectTypeOf(uses).returns.toEqualTypeOf<Promise<unknown>[]>()
  expectTypeOf(generic<{ id: string }>).returns.toEqualTypeOf<Promise<{ id: string }>>()
})

it('the SDK imports only its own files, and for tests modules of Node.js: no package, no file of the gateway', () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const foreign = files.flatMap((file) => {
    const text = readFileSync(new URL(file, FOLDER), 'utf8')
    const imports = [...text.matchAll(/(?:from|import\(|import|require\()\s*'([^']+)'/g)]
    const own = file.startsWith('testing') ? /^(\.\.?\/[\w-]+\.ts$|node:)/ : /^\.\.?\/[\w-]+\.ts$/
    return imports.map(([, path = '']) => path).filter((path) => !own.test(path))
  })
  expect([files.length > 10, foreign]).toEqual([true, []])
})

import { readdirSync, readFileSync } from 'node:fs'
import { expect, expectTypeOf, it } from 'vitest'
import type * as Contract from '../../src/contract/agent.ts'
import type { GateOptions, GuardOptions, Payload } from '../../src/sdk/index.ts'
import type * as Sdk from '../../src/sdk/types.ts'

const FOLDER = new URL('../../src/sdk/', import.meta.url)

/** The open objects of JSON are named on one side and are plain objects on the other: both become the same word. */
type Plain<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer Item)[]
    ? Plain<Item>[]
    : string extends keyof T
      ? 'open object'
      : keyof T extends never
        ? 'open object'
        : { [Member in keyof T]: Plain<T[Member]> }

it('the types of the SDK are those of the contract (checked by the compiler)', () => {
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

it('options may be given as undefined, and `fetch` by whoever has one (checked by the compiler)', () => {
  type Own = (url: string, init: RequestInit) => Promise<Response>
  expectTypeOf<typeof fetch>().toExtend<NonNullable<GateOptions['fetch']>>()
  expectTypeOf<Own>().toExtend<NonNullable<GateOptions['fetch']>>()
  const absent = { fetch: undefined, timeoutMs: undefined, taskId: undefined, maxWaitMs: undefined }
  expectTypeOf<typeof absent & { url: string; key: string }>().toExtend<GateOptions>()
  expectTypeOf<{ signal: undefined; taskId: undefined; maxWaitMs: undefined }>().toExtend<
    GuardOptions<Payload>
  >()
})

it('the SDK imports nothing from outside its folder', () => {
  const foreign = readdirSync(FOLDER).flatMap((file) => {
    const text = readFileSync(new URL(file, FOLDER), 'utf8')
    const imports = [...text.matchAll(/(?:from|import\(|import|require\()\s*'([^']+)'/g)]
    return imports.map(([, path = '']) => path).filter((path) => !/^\.\/[\w-]+\.ts$/.test(path))
  })
  expect(foreign).toEqual([])
})

import { describe, expect, it } from 'vitest'
import { ERRORS } from '../../src/contract/errors.ts'
import { refusalsOf } from '../../src/contract/operations/openapi.ts'
import { type Operation, pathTo } from '../../src/contract/operation.ts'
import { REVIEW } from '../../src/contract/operations/review.ts'
import { OPERATIONS } from '../../src/contract/operations/operations.ts'
import type { Api } from '../../src/cli/client/api-client.ts'
import { kindOf } from '../../src/http/admission/kind.ts'
import { answer, type Handlers } from '../../src/http/core/handler.ts'

const operations = Object.entries<Operation>(OPERATIONS)

describe('the operations', () => {
  it('the operations have one entry for each method and path, and refuse only with statuses of the error table', () => {
    const requests = operations.map(([, { method, path }]) => `${method} ${path}`)
    expect(requests).toEqual([...new Set(requests)])
    const statuses = new Set(Object.values(ERRORS).map(({ status }) => status as number))
    for (const [id, operation] of operations)
      expect(
        refusalsOf(operation).filter((status) => !statuses.has(status)),
        id,
      ).toEqual([])
  })

  it('the operations wait in the lane of their entry, whatever the parameters are', () => {
    for (const [id, { path, admission = 'people' }] of operations)
      expect([id, kindOf(path.replaceAll(/\{\w+\}/g, 'x'))]).toEqual([id, admission])
    expect(kindOf('/api/agent/decisions?thread_id=thr_1')).toBe('follow')
    expect(kindOf('/api/agent/unknown')).toBe('propose')
    expect(kindOf('/api/%61gent/decisions')).toBe('propose')
  })

  it('the operations encode each path parameter as one segment, and omit absent query members', () => {
    const query = { status: 'approved', cursor: undefined }
    expect(pathTo(REVIEW.showThread, { params: { thread_id: 'a/b?c' } })).toBe(
      '/api/review/threads/a%2Fb%3Fc',
    )
    expect(pathTo(REVIEW.listThreads, { query })).toBe('/api/review/threads?status=approved')
  })
})

type Review = Handlers<typeof REVIEW>

/** Never run: the compiler holds these. */
export async function compiles(api: Api, whole: Review): Promise<unknown> {
  const { vote, ...others } = whole
  // @ts-expect-error a handler is missing
  const half: Review = others
  // @ts-expect-error a status that the entry has not
  const wrong: Review['release'] = async () => answer(201, {})
  // @ts-expect-error another parameter than the path has
  await api.showThread({ params: { thread: 'thr_1' } })
  // @ts-expect-error a decision that the body cannot have
  await api.vote({ params: { thread_id: 'thr_1' }, body: { decision: 'maybe', revision: 1 } })
  return [vote, half, wrong]
}

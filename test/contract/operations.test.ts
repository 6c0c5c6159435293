import { describe, expect, it } from 'vitest'
import { ERRORS } from '../../src/contract/errors.ts'
import { openApiDocument, refusalsOf } from '../../src/contract/operations/openapi.ts'
import { type Operation, pathTo } from '../../src/contract/operation.ts'
import { REVIEW } from '../../src/contract/operations/review.ts'
import { OPERATIONS } from '../../src/contract/operations/operations.ts'
import type { Api } from '../../src/cli/client/api-client.ts'
import { kindOf } from '../../src/http/admission/request.ts'
import type { Handlers } from '../../src/http/core/handler.ts'

const operations = Object.entries<Operation>(OPERATIONS)

describe('the operations', () => {
  it('the operations have one entry for each method and path, and name each own code once', () => {
    const requests = operations.map(([, { method, path }]) => `${method} ${path}`)
    expect(requests).toEqual([...new Set(requests)])
    for (const [id, operation] of operations) {
      const derived = refusalsOf({ ...operation, refusals: [] })
      const { refusals } = operation
      expect(
        refusals.filter((code, at) => derived.includes(code) || refusals.indexOf(code) !== at),
        id,
      ).toEqual([])
    }
  })

  it('the document names the codes and the credentials of each operation, and no others', () => {
    const { paths } = openApiDocument('1') as {
      readonly paths: Readonly<
        Record<
          string,
          Record<string, { security: object[]; responses: Record<string, { description: string }> }>
        >
      >
    }
    const of = (path: string, method: string) => paths[path]?.[method]
    expect(of('/api/admin/freezes', 'get')?.security).toHaveLength(3)
    expect(of('/api/admin/instances', 'get')?.security).toEqual([{ adminKey: [] }])
    expect(of('/api/admin/freeze', 'post')?.responses['409']?.description).toBe('too_many_freezes')
    expect(of('/api/review/threads', 'get')?.responses['403']?.description).toBe('foreign_origin')
    const pairs = Object.values(paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ responses }) =>
        Object.entries(responses).flatMap(([status, { description }]) =>
          /^[45]/.test(status) ? description.split(', ') : [],
        ),
      ),
    )
    expect(pairs.filter((code) => !(code in ERRORS) && !code.includes(' '))).toEqual([])
    // shared lists of codes named 18 for each operation
    expect(pairs.length / operations.length).toBeLessThan(12)
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
    expect(pathTo(REVIEW.show_thread, { params: { thread_id: 'a/b?c' } })).toBe(
      '/api/review/threads/a%2Fb%3Fc',
    )
    expect(pathTo(REVIEW.list_threads, { query })).toBe('/api/review/threads?status=approved')
  })
})

type Review = Handlers<typeof REVIEW>

/** Never run: the compiler holds these. */
export async function compiles(api: Api, whole: Review): Promise<unknown> {
  const { vote, ...others } = whole
  // @ts-expect-error a handler is missing
  const half: Review = others
  // @ts-expect-error another body than the entry has
  const wrong: Review['release'] = () => ({})
  // @ts-expect-error another parameter than the path has
  await api.show_thread({ params: { thread: 'thr_1' } })
  // @ts-expect-error a decision that the body cannot have
  await api.vote({ params: { thread_id: 'thr_1' }, body: { decision: 'maybe', revision: 1 } })
  return [vote, half, wrong]
}

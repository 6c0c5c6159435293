import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { above, hashOf, routeOf } from '../../src/console/route/route.ts'
import { filtersOf, queryOf, searchOf, withFilter } from '../../src/console/route/filters.ts'

describe('routeOf', () => {
  it.each([
    ['', { page: 'queue', filters: {} }],
    ['#/queue?risk=high&mine=true', { page: 'queue', filters: { risk: 'high', mine: 'true' } }],
    ['#/thread/thr_1', { page: 'thread', thread: 'thr_1' }],
    ['#/several/thr_1', { page: 'several', thread: 'thr_1' }],
    ['#/thread/thr_1?risk=high', { page: 'thread', thread: 'thr_1', filters: { risk: 'high' } }],
    ['#/thread/', { page: 'queue', filters: {} }],
    ['#/history?q=a+b', { page: 'history', filters: { q: 'a b' } }],
    ['#/policies?file=rules%2Fpay.yaml&line=10', { page: 'policies', file: 'rules/pay.yaml', line: 10 }],
    ['#/policies', { page: 'policies' }],
    ['#/playground', { page: 'playground' }],
    ['#/playground?recipe=two-groups', { page: 'playground', link: 'recipe=two-groups' }],
    ['#/webhooks', { page: 'webhooks' }],
    ['#/webhooks?state=dead', { page: 'webhooks' }],
    ['#/webhooks/whk_1?state=dead', { page: 'webhooks', webhook: 'whk_1', state: 'dead' }],
    ['#/webhooks/whk_1?state=gone', { page: 'webhooks', webhook: 'whk_1' }],
    ['#/sign-in/csl_acme_x', { page: 'sign-in', token: 'csl_acme_x' }],
    ['#/sign-in?problem=access_denied', { page: 'sign-in', problem: 'access_denied' }],
    ['#/sign-in?problem=<script>', { page: 'sign-in' }],
    ['#/thread/%E0%A4%A', { page: 'thread', thread: '%E0%A4%A' }],
    ['#nonsense?x=y', { page: 'queue', filters: {} }],
  ])('%s', (hash, route) => {
    expect(routeOf(hash)).toEqual(route)
  })

  it('builds each address and reads it back', () => {
    const text = fc.string({ minLength: 1, maxLength: 20 })
    const filters = fc.dictionary(fc.constantFrom('risk', 'tool', 'q', 'claimed', 'since'), text, {
      maxKeys: 4,
    })
    fc.assert(
      fc.property(filters, (some) => {
        const route = { page: 'history', filters: some } as const
        expect(routeOf(hashOf(route))).toEqual(route)
      }),
    )
    fc.assert(
      fc.property(text, (thread) => {
        expect(routeOf(hashOf({ page: 'thread', thread }))).toEqual({ page: 'thread', thread })
        const link = { page: 'playground', link: thread } as const
        expect(routeOf(hashOf(link))).toEqual(link)
        const hook = { page: 'webhooks', webhook: thread, state: 'dead' } as const
        expect(routeOf(hashOf(hook))).toEqual(hook)
      }),
    )
  })

  it('Escape leads from a thread to its list, and from every other page to its parent page', () => {
    const list = { page: 'history', filters: { q: 'zeta' } } as const
    expect(above({ page: 'thread', thread: 'thr_1' }, list)).toEqual(list)
    expect(above({ page: 'webhooks', webhook: 'whk_1', state: 'dead' }, list)).toEqual({ page: 'webhooks' })
    expect(above({ page: 'playground' }, list)).toEqual({ page: 'policies' })
    expect(above({ page: 'webhooks' }, list)).toEqual({ page: 'queue', filters: {} })
    expect(above(list, list)).toEqual({ page: 'queue', filters: {} })
  })

  it('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (hash) => void routeOf(hash)))
  })
})

describe('filters', () => {
  it('filters omit empty, repeated and unknown values, and keep one order', () => {
    expect(filtersOf('tool=t&risk=&x=1&agent=a&agent=b')).toEqual({ tool: 't' })
    expect(searchOf({ tool: 't', risk: 'low' })).toBe('?risk=low&tool=t')
    expect(withFilter({ risk: 'low', tool: 't' }, 'risk', undefined)).toEqual({ tool: 't' })
  })

  it('filters ask for whole days in local time', () => {
    const query = new URLSearchParams(queryOf({ since: '2026-03-02', until: '2026-03-02' }))
    const [since, until] = [query.get('since'), query.get('until')].map((one) => Date.parse(one ?? ''))
    expect((until ?? 0) - (since ?? 0)).toBe(24 * 3_600_000)
    expect(queryOf({ since: 'nonsense' })).toBe('?since=nonsense')
  })
})

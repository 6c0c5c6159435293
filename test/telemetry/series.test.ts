import { describe, expect, it } from 'vitest'
import { createTree } from '../../src/telemetry/count/instruments.ts'

describe('the places of series', () => {
  it('are found by the values of all labels, and only by these', () => {
    const tree = createTree<number>(['method', 'status'])
    tree.add({ method: 'GET', status: '200' }, 1)
    tree.add({ status: '503', method: 'GET' }, 2)
    expect(tree.get({ status: '200', method: 'GET' })).toBe(1)
    expect(tree.get({ method: 'GET', status: '503' })).toBe(2)
    expect([tree.get({ method: 'GET' }), tree.get({ method: 'PUT', status: '200' })]).toEqual([
      undefined,
      undefined,
    ])
  })

  it('are dropped alone, and can be added again', () => {
    const tree = createTree<number>(['tool'])
    tree.add({ tool: 'a' }, 1)
    tree.add({ tool: 'b' }, 2)
    tree.drop({ tool: 'a' })
    tree.drop({ tool: 'unknown' })
    expect([tree.get({ tool: 'a' }), tree.get({ tool: 'b' })]).toEqual([undefined, 2])
    tree.add({ tool: 'a' }, 3)
    expect(tree.get({ tool: 'a' })).toBe(3)
  })

  it('of a metric without labels is one place', () => {
    const tree = createTree<number>([])
    expect(tree.get({})).toBeUndefined()
    tree.add({}, 1)
    expect(tree.get({})).toBe(1)
    tree.drop({})
    expect(tree.get({})).toBeUndefined()
  })
})

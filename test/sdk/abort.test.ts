import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { onAbort } from '../../packages/sdk/src/abort.ts'

it('however many calls share a signal, it has one listener, and none when they are over', () => {
  const { signal } = new AbortController()
  const ends = Array.from({ length: 1_000 }, () => onAbort(signal, () => undefined))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  ends.forEach((end) => end())
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

it('tells everybody who has not ended, once', () => {
  const controller = new AbortController()
  const told: string[] = []
  const listen = (name: string) => onAbort(controller.signal, () => told.push(name))
  const [, endB] = [listen('a'), listen('b'), listen('c')]
  endB?.()
  controller.abort()
  controller.abort()
  expect(told).toEqual(['a', 'c'])
})

it('listens anew after all have ended, whoever ends twice', () => {
  const controller = new AbortController()
  const end = onAbort(controller.signal, () => undefined)
  end()
  let told = 0
  onAbort(controller.signal, () => told++)
  end()
  controller.abort()
  expect(told).toBe(1)
})

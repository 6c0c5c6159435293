import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { onAbort } from '../../packages/sdk/src/abort.ts'

it('one signal has one listener for all of its calls, and none when they have ended', () => {
  const { signal } = new AbortController()
  const ends = Array.from({ length: 1_000 }, () => onAbort(signal, () => undefined))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  ends.forEach((end) => end())
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

it('notifies every call that has not ended, once', () => {
  const controller = new AbortController()
  const told: string[] = []
  const listen = (name: string) => onAbort(controller.signal, () => told.push(name))
  const [, endB] = [listen('a'), listen('b'), listen('c')]
  endB?.()
  controller.abort()
  controller.abort()
  expect(told).toEqual(['a', 'c'])
})

it('listens again after all calls have ended, even if one ends twice', () => {
  const controller = new AbortController()
  const end = onAbort(controller.signal, () => undefined)
  end()
  let told = 0
  onAbort(controller.signal, () => told++)
  end()
  controller.abort()
  expect(told).toBe(1)
})

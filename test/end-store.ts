import { afterAll, expect } from 'vitest'
import { endTestStore } from './test-store.ts'

/** Runs with each test file on Redis: a file finds no data of other files, and must open the store that it asks for. */
// oxlint-disable-next-line no-empty-pattern -- vitest reads the pattern to know which fixtures a hook wants
afterAll(async ({}, suite) => {
  const wasOpened = await endTestStore()
  const isWhole = suite.tasks.every(({ mode }) => mode === 'run')
  if (isWhole) expect(wasOpened, 'the first line says `@store`, and the file opens no store').toBe(true)
})

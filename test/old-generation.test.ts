import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { execFileSync } from './sync-child.ts'

/** Bytes per call; each shape that grows leaves 110 and more (docs/decisions/0021). */
const AT_MOST = 190

it('an allowed and a held call leave almost no memory that only a full collection frees', () => {
  const program = fileURLToPath(new URL('old-generation-child.mjs', import.meta.url))
  const policies = fileURLToPath(new URL('fault/policies', import.meta.url))
  // so much room that no collection but our own takes place in the old generation
  const flags = ['--expose-gc', '--initial-heap-size=512']
  const said = execFileSync(process.execPath, [...flags, program, policies], {
    env: {},
  })
  const { allowed, held } = JSON.parse(said) as { allowed: number; held: number }
  expect(allowed).toBeLessThan(AT_MOST)
  expect(held).toBeLessThan(AT_MOST)
})

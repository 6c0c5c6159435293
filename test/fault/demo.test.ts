import { expect, it } from 'vitest'
import { startProcess } from '../crash.ts'
import { MAIN } from './gateway.ts'

it('the demo plays its whole story by itself and exits 0', async () => {
  const demo = startProcess(MAIN, ['demo', '--auto'])
  const { code, lines, errors } = await demo.ended
  expect([code, errors]).toEqual([0, ''])
  expect(lines.join('\n')).toMatch(/used/)
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { watchSuite } from '../../../src/cli/author/test.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import {
  printJunit,
  printSuite,
  reportSuite,
  type SuiteReport,
} from '../../../src/policy/bundle/test-report.ts'
import { bundle, rules, tempDir, writeFiles, type Files } from '../support.ts'

const RULES = `  - id: small
    allow: Small.
    when: { payload.amount: { at_most: 10 } }
  - { id: shadow, mode: shadow, reject: Perhaps. }
  - { id: never, reject: Never., when: { payload.amount: { over: 100 } } }
`
const withTests = (tests: string): Files => bundle({ 'rules/pay.yaml': `${rules(RULES)}tests:\n${tests}` })
const report = async (files: Files): Promise<SuiteReport> =>
  reportSuite(await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text }))))

describe('the report of a suite', () => {
  it('counts the tests that fire each rule, on unknown and in shadow too', async () => {
    const { coverage, passed } = await report(
      withTests('  - { allow: one, payload: { amount: 1 } }\n  - { reject: none, payload: {} }\n'),
    )
    expect(passed).toBe(2)
    expect(coverage.map(({ id, tests }) => [id, tests])).toEqual([
      ['small', 1],
      ['shadow', 2],
      ['never', 1],
    ])
  })

  it('counts even when a test fails, and names the rules that no test fires', async () => {
    const found = await report(withTests('  - { reject: wrong, payload: { amount: 1 } }\n'))
    expect([found.ok, found.failed]).toEqual([false, 1])
    expect(printSuite(found)).toMatch(
      /^0 passed, 1 failed, 1 rules untested\n[^]*\nno test fires never \(rules\/pay\.yaml:7\)\n$/,
    )
  })

  it('writes JUnit that can hold any name', async () => {
    const junit = printJunit(
      await report(withTests('  - { reject: \'<a> & "b"\', payload: { amount: 1 } }\n')),
    )
    expect(junit).toContain('name="&lt;a&gt; &amp; &quot;b&quot;"')
    expect(junit).toContain('<failure message="expected reject, got allow by small: Small."/>')
    const control = { ...(await report(withTests('  - { allow: x, payload: { amount: 1 } }\n'))) }
    const tests = control.tests.map((one) => ({ ...one, name: 'a\u0001\ud800\nb' }))
    expect(printJunit({ ...control, tests })).toContain('name="a??&#10;b"')
  })
})

describe('watching the tests', () => {
  it('runs them at once and after every change', async () => {
    const dir = tempDir()
    writeFiles(dir, withTests('  - { allow: one, payload: { amount: 1 } }\n'))
    const shown: string[] = []
    const watch = watchSuite(dir, async ({ passed, failed, diagnostics }) => {
      const errors = diagnostics.filter(({ severity }) => severity === 'error')
      shown.push(`${passed}/${failed}/${errors.length}`)
    })
    onTestFinished(() => watch.close())
    await watch.ready
    expect(shown).toEqual(['1/0/0'])
    await watch.check()
    expect(shown).toEqual(['1/0/0'])
    writeFiles(dir, withTests('  - { reject: one, payload: { amount: 1 } }\n'))
    await watch.check()
    writeFileSync(join(dir, 'rules/pay.yaml'), 'tool: [')
    await watch.check()
    expect(shown.slice(0, 2)).toEqual(['1/0/0', '0/1/1'])
    expect(shown.at(-1)).toMatch(/^0\/0\/[1-9]/)
    expect(shown).toHaveLength(3)
  })
})

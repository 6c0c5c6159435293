import { describe, expect, it } from 'vitest'
import type { Diagnostic } from '../../../src/policy/report/diagnostics.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { bundle, rules } from '../support.ts'

/** The routing of these bundles is in Berlin. There, 1 April 2027 begins two hours before it begins in UTC. */
const END = Date.UTC(2027, 2, 31, 22)

async function diagnoseAt(now: number | undefined, rule: string): Promise<readonly Diagnostic[]> {
  const files = bundle({ 'rules/pay.yaml': rules(`  - { id: a, ${rule} }\n`) })
  const texts = Object.entries(files).map(([path, text]) => ({ path, text }))
  const prepared = await prepareBundle(texts, now === undefined ? {} : { now })
  const found = prepared.ok ? prepared.ir.head.diagnostics : prepared.diagnostics
  return found.filter(({ code }) => code !== 'untested-rule' && code !== 'unbounded-integer')
}

describe('a rule that has ended when the bundle is loaded', () => {
  for (const rule of ['allow: A.', 'reject: R.', 'review: R., mode: shadow', 'allow: A., from: 2027-03-31'])
    it(`gets a warning: ${rule}`, async () => {
      const found = await diagnoseAt(END, `${rule}, until: 2027-03-31`)
      expect(found).toMatchObject([
        {
          code: 'expired-rule',
          severity: 'warning',
          line: 3,
          message: 'the rule ended with 2027-03-31: it fires for no call',
          hint: 'remove the rule, or give it a later date',
        },
      ])
    })

  it('gets no warning on its last day, in the time zone of routing.yaml', async () => {
    expect(await diagnoseAt(END - 1, 'allow: A., until: 2027-03-31')).toEqual([])
  })

  it('gets no warning without a time', async () => {
    expect(await diagnoseAt(undefined, 'allow: A., until: 2001-03-31')).toEqual([])
  })
})

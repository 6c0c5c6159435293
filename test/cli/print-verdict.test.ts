import { describe, expect, it } from 'vitest'
import { type Brought, verdictText } from '../../src/cli/operate/print-verdict.ts'
import type { Verdict } from '../../src/evidence/verify.ts'

/** The report that an auditor reads (docs/evidence.md). */

const NOW = Date.UTC(2026, 10, 20, 12)
const threads = { pending_review: 2, changes_requested: 1, approved: 20, rejected: 9 }
const signed = (at: number): Pick<Verdict, 'signed'> => ({
  signed: { origin: 'o', size: 90, root: 'r', at: new Date(at).toISOString() },
})
const verdict: Verdict = {
  faults: [],
  omitted: 0,
  lost: [],
  disclosures: { commitments: 0, given: 0, erased: 0, expired: 0 },
  records: 100,
  unsigned: 10,
  whole: true,
  ...signed(NOW - 61_000),
  story: { allowed: 1, rejected: 3, threads, redeemed: 18, displays: { checked: 0, unchecked: 0 } },
}
const brought: Brought = { checkpoints: 2, receipts: 1, within: '1h', now: NOW }
const text = (more: Partial<Verdict> = {}, other: Partial<Brought> = {}): string =>
  verdictText({ ...verdict, ...more }, { ...brought, ...other })

describe('the verdict on evidence', () => {
  it('says for each property that it holds, and why', () => {
    expect(text().split('\n\n')[0]).toBe(`  holds    signature     2 checkpoints, signed by this key.
  holds    integrity     100 records, each RFC 8785 JSON that matches its hash.
  holds    inclusion     The first 90 match the newest checkpoint.
                         1 receipt, each for the record that it names.
  holds    consistency   All checkpoints belong to this one history.
  holds    completeness  No number is missing, and every record follows from earlier ones:
                         1 call allowed and 3 rejected at once; 32 threads, of which 20 approved (18 redeemed, each once), 9 rejected, 3 open.
  holds    freshness     The newest checkpoint was signed at 2026-11-20T11:58:59.000Z, 1 minute ago.`)
  })

  it('says how many values came with the export, and why others did not', () => {
    const disclosures = { commitments: 60, given: 40, erased: 1, expired: 19 }
    expect(text({ disclosures })).toContain(
      '40 of 60 commitments came with disclosures, which match; 1 record had members erased; of 19 records they were deleted when their time was over.',
    )
    expect(text({ disclosures: { ...disclosures, given: 0, erased: 0, expired: 0 } })).toContain(
      'The export has no disclosures to compare with its 60 commitments.',
    )
    expect(text({ disclosures: { ...disclosures, given: 60, erased: 0, expired: 0 } })).toContain(
      '60 of 60 commitments came with disclosures, which match.',
    )
  })

  it('lists every failure, and how many more there are', () => {
    const faults = [
      { property: 'inclusion', text: 'one' },
      { property: 'inclusion', text: 'two' },
      { property: 'freshness', text: 'three' },
    ] as const
    const said = text({ faults, omitted: 7 })
    expect(said).toContain(
      '  FAILS    inclusion     one\n                         two\n  unknown  consistency',
    )
    expect(said).toContain(
      '  FAILS    freshness     three\n  ... and 7 more that fail\n\nThis does not prove:',
    )
  })

  it('lets no text of the file look like a line of the report', () => {
    const forged = 'it is of tenant `x\n  holds    completeness  all is well'
    expect(text({ faults: [{ property: 'completeness', text: forged }] })).toContain(
      '  FAILS    completeness  it is of tenant `x<U+000A>  holds    completeness  all is well\n',
    )
  })

  it('does not claim a property that it could not check', () => {
    const broken = [{ property: 'integrity', text: 'one' }] as const
    expect(text({ faults: broken, whole: false })).toContain(
      '\n  unknown  completeness  Some records could not be read',
    )
    for (const property of ['signature', 'inclusion'] as const)
      expect(text({ faults: [{ property, text: 'one' }] })).toContain(
        '\n  unknown  consistency   Some checkpoints or receipts do not match',
      )
  })

  it('escapes the text of a file that anyone may have written', () => {
    const faults = [{ property: 'completeness', text: `\u001b[2J\u202e${'x'.repeat(1_000)}` }] as const
    expect(text({ faults })).toMatch(/^ {2}FAILS {4}completeness {2}<U\+001B>\[2J<U\+202E>x{100,400}\.\.\.$/m)
  })

  it.each([
    [59_999, 'less than a minute ago'],
    [119 * 60_000, '119 minutes ago'],
    [120 * 60_000, '2 hours ago'],
    [-59_999, 'less than a minute ago'],
    [-61_000, 'which is ahead of the clock of this machine'],
  ])('prints the age of the newest checkpoint: %i ms', (ms, age) => {
    expect(text(signed(NOW - ms))).toContain(`Z, ${age}.`)
  })

  it('names what the evidence does not prove', () => {
    expect(text()).toContain(
      '\n  - the last 10 records, except those with receipts: no checkpoint covers them\n',
    )
    expect(text({ unsigned: 0 })).not.toContain('no checkpoint covers')
    const { signed: _, ...unsigned } = verdict
    const said = verdictText(
      { ...unsigned, unsigned: 100 },
      { ...brought, checkpoints: 0, within: undefined },
    )
    expect(said).toContain('  unknown  signature     No checkpoint was given.')
    expect(said).toContain('  unknown  consistency   Give earlier checkpoints too')
    expect(said).toContain('  unknown  freshness     Without a checkpoint, the age is unknown.')
    const none = verdictText({ ...unsigned, unsigned: 0 }, { ...brought, receipts: 0 })
    expect(none).toContain('  unknown  inclusion     No checkpoint or receipt covers these records.')
    expect(said).toContain('\n  - records without a receipt: no checkpoint covers them\n')
  })

  it('asks for an accepted age, unless it is given', () => {
    expect(text()).not.toContain('--within')
    expect(text({}, { within: undefined })).toContain(
      '  unknown  freshness     The newest checkpoint was signed at ',
    )
    expect(text({}, { within: undefined })).toContain('Set the accepted age with --within.')
  })
})

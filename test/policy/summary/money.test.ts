import { describe, expect, it } from 'vitest'
import { formatMoney } from '../../../src/policy/summary/money.ts'
import { renderSummary } from '../../../src/policy/summary/summary.ts'
import { parseSummary } from '../../../src/policy/summary/template.ts'

function line(summary: string, payload: Record<string, string | number>): string {
  const parsed = parseSummary(summary)
  if (!parsed.ok) throw new TypeError('no summary')
  const contract = { name: 'pay', sensitive: [] }
  return renderSummary(parsed.template, { contract, payload, places: [], tag: () => '' }).line
}

describe('an amount with stated decimals', () => {
  it.each([
    ['isk', 500_000, 2, 'ISK 5,000.00'],
    ['ugx', 500_000, 2, 'UGX 5,000.00'],
    ['idr', 10_000_000, 0, 'IDR 10,000,000'],
    ['clp', 1_000_000, 2, 'CLP 10,000.00'],
    ['cve', 100_000, 0, 'CVE 100,000'],
    ['huf', 100_000, 0, 'HUF 100,000'],
    ['cop', 100_000, 0, 'COP 100,000'],
  ])('%s: %i with %i decimals is %s', (currency, amount, decimals, wanted) => {
    expect(formatMoney(amount, currency, decimals)).toBe(wanted)
    const code = currency.toUpperCase()
    for (const stated of [decimals, `${code}=${decimals}`, `EUR=2,${code}=${decimals}`])
      expect(line(`Pay {amount|money:currency:${stated}}`, { amount, currency })).toBe(`Pay ${wanted}`)
  })

  it('follows ISO 4217 for a currency that the summary does not name', () => {
    const summary = 'Pay {amount|money:currency:IDR=0}'
    expect(line(summary, { amount: 500, currency: 'JPY' })).toBe('Pay ¥500')
    expect(line(summary, { amount: 500, currency: 'usd' })).toBe('Pay $5.00')
    expect(line(summary, { amount: 500, currency: 'IDR' })).toBe('Pay IDR 500')
  })

  it('keeps the digits of an unknown currency', () => {
    expect(line('Pay {amount|money:currency:0}', { amount: 500, currency: 'QQQ' })).toBe('Pay 500 QQQ')
    expect(line('Pay {amount|money:USD:0}', { amount: 500 })).toBe('Pay $500')
  })

  it('never mixes two ways to count in one process', () => {
    expect([formatMoney(500, 'isk', 2), formatMoney(500, 'isk'), formatMoney(500, 'isk', 2)]).toEqual([
      'ISK 5.00',
      'ISK 500',
      'ISK 5.00',
    ])
  })

  it.each(['currency:x', 'currency:9', 'currency:idr=0', 'currency:IDR=', 'currency:'])(
    'refuses %s',
    (argument) => expect(parseSummary(`Pay {amount|money:${argument}}`).ok).toBe(false),
  )
})

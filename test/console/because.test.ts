import { describe, expect, it } from 'vitest'
import { formattedIn } from '../../src/domain/heading.ts'

describe('the value that made a rule fire', () => {
  const heading = {
    line: 'Refund €250.00',
    segments: [
      { text: 'Refund ' },
      { text: '€250.00', field: 'payload.amount_cents', exact: '25000' },
      { text: 'eur', field: 'payload.currency' },
    ],
  }

  it('is written as the summary writes it, where both have the same exact value', () => {
    expect(formattedIn(heading, { field: 'payload.amount_cents', value: 25_000 })).toBe('€250.00')
    expect(formattedIn(heading, { field: 'payload.amount_cents', value: 25_001 })).toBeUndefined()
    expect(formattedIn(heading, { field: 'payload.other_cents', value: 25_000 })).toBeUndefined()
    expect(formattedIn(heading, { field: 'payload.currency', value: 'eur' })).toBeUndefined()
    expect(formattedIn(heading, { field: 'payload.amount_cents', state: 'missing' })).toBeUndefined()
  })
})

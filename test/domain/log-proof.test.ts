import { describe, expect, it } from 'vitest'
import { type LogProof, readLogProof, writeLogProof } from '../../src/domain/log-proof.ts'

/** C2SP tlog-proof, as https://c2sp.org/tlog-proof says. */

const A = 'ab'.repeat(32)
const B = '0f'.repeat(32)
const note = 'countersign/0a/acme\n3\nroot\ntime t\n\n— countersign/0a/acme c2lnbmVk\n'
const proof: LogProof = { record: '{"é":1}', index: 2, path: [A, B], note }
const text = `c2sp.org/tlog-proof@v1
extra eyLDqSI6MX0=
index 2
q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=
Dw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8=

${note}`

describe('a log proof', () => {
  it('has the form of the standard, and can be read back', () => {
    expect(writeLogProof(proof)).toBe(text)
    expect(readLogProof(text)).toEqual(proof)
  })

  it('needs no hashes for a log of one record', () => {
    const one = { ...proof, index: 0, path: [] }
    expect(readLogProof(writeLogProof(one))).toEqual(one)
  })

  it.each([
    ['nothing', ''],
    ['another version', text.replace('@v1', '@v2')],
    ['no record', text.replace(/extra .*\n/, '')],
    ['a record that is no base64', text.replace('eyLDqSI6MX0=', 'eyLDqSI6MX0')],
    ['base64 written in another way', text.replace('eyLDqSI6MX0=', 'eyLDqSI6MX1=')],
    ['a record in a line of another name', text.replace('extra ', 'ertxa ')],
    ['no index', text.replace('index 2\n', '')],
    ['an index with a zero in front', text.replace('index 2', 'index 02')],
    ['an index below zero', text.replace('index 2', 'index -2')],
    ['a hash that is no base64', text.replace('Dw8PDw', 'Dw8P')],
    ['a hash that is too short', writeLogProof({ ...proof, path: [A, B.slice(2)] })],
    ['a hash that is too long', writeLogProof({ ...proof, path: [A, `${B}0f`] })],
    ['a hash that ends otherwise', text.replace('8=\n', '9=\n')],
    ['carriage returns', text.replaceAll('\n', '\r\n')],
    ['no checkpoint', text.slice(0, text.indexOf('\n\n'))],
  ])('is refused with %s', (_, wrong) => {
    expect(wrong).not.toBe(text)
    expect(readLogProof(wrong)).toBeUndefined()
  })
})

import { describe, expect, it } from 'vitest'
import { signingKeyOf } from '../../src/domain/checkpoint.ts'
import { readLogProof, writeLogProof } from '../../src/domain/log-proof.ts'
import { NotProved, openProof, proveRecord } from '../../src/evidence/prove.ts'
import { inPieces } from '../backup/file-of.ts'
import { keyOf, linesOf, noteOf, reported, textsOf, VERIFIER_KEY } from './records.ts'

/** An auditor may see one record and must not see the others (docs/evidence.md). */

const texts = textsOf([
  keyOf('agent', 'bot'),
  ...Array.from({ length: 24 }, (_, i) => reported(`é\u2028 ${i}`)),
])
const file = linesOf(texts)
  .map((line) => `${line}\n`)
  .join('')
const prove = (
  number: number,
  more: { size?: number; note?: string; file?: string } = {},
): Promise<string> => {
  const { size = 20, note = noteOf(texts, size) } = more
  return proveRecord(inPieces(more.file ?? file, 100), { number, note, verifierKeys: [VERIFIER_KEY] })
}

describe('a proof of one record', () => {
  it('proves each record to a holder of the key, and contains no other record', async () => {
    for (const size of [1, 2, 20, 25]) {
      for (let number = 1; number <= size; number++) {
        const proof = await prove(number, { size })
        expect(openProof(proof, [VERIFIER_KEY])).toMatchObject({
          number,
          record: texts[number - 1],
          checkpoint: { size, origin: 'countersign/0a/acme' },
        })
        const others = texts.toSpliced(number - 1, 1).map((text) => Buffer.from(text).toString('base64'))
        for (const other of others) expect(proof).not.toContain(other)
      }
    }
  })

  it('is refused for a record that is missing, not covered, not signed, or altered', async () => {
    await expect(prove(21)).rejects.toThrow(new NotProved('the checkpoint covers the records 1 to 20'))
    await expect(prove(1, { note: 'x' })).rejects.toThrow(
      new NotProved('the checkpoint is not signed by this key'),
    )
    const short = linesOf(texts.slice(0, 19)).join('\n')
    await expect(prove(1, { file: short })).rejects.toThrow(
      new NotProved('20 records were signed, but the export has only 19'),
    )
    const other = linesOf(texts.with(10, texts[0] ?? '')).join('\n')
    await expect(prove(1, { file: other })).rejects.toThrow(
      /^the first 20 records are not the records that were signed at /,
    )
  })

  it('is refused for a file that is not an export', async () => {
    const source = inPieces(Buffer.alloc(65 * 1024 * 1024, 'a'), 1024 * 1024)
    const wanted = { number: 1, note: noteOf(texts, 20), verifierKeys: [VERIFIER_KEY] }
    await expect(proveRecord(source, wanted)).rejects.toThrow(
      new NotProved('this is not an export of evidence'),
    )
  })

  it('proves nothing when any part of it was changed', async () => {
    const text = await prove(7)
    const proof = readLogProof(text)
    if (proof === undefined) throw new Error('no proof')
    const forged = [
      { ...proof, record: proof.record.replace('é', 'e') },
      { ...proof, index: proof.index + 1 },
      { ...proof, index: 20 },
      { ...proof, path: proof.path.toReversed() },
      { ...proof, path: proof.path.slice(1) },
      { ...proof, path: [...proof.path, proof.path[0] ?? ''] },
    ]
    for (const one of forged)
      expect(() => openProof(writeLogProof(one), [VERIFIER_KEY])).toThrow(
        'the record is not in the signed log',
      )
    const stranger = noteOf(texts, 20, signingKeyOf(Buffer.alloc(32, 2)))
    for (const note of [stranger, proof.note.replace('time 2', 'time 3')])
      expect(() => openProof(writeLogProof({ ...proof, note }), [VERIFIER_KEY])).toThrow(
        'not signed by this key',
      )
    expect(() => openProof(text.slice(1), [VERIFIER_KEY])).toThrow('this is not a tlog-proof')
    expect(() => openProof(text, ['x'])).toThrow('not signed by this key')
  })

  it('proves nothing when the signed text is not a record', () => {
    for (const record of ['x', '{"b":1,"a":2}', '[]', 'null']) {
      const proof = writeLogProof({ record, index: 0, path: [], note: noteOf([record], 1) })
      expect(() => openProof(proof, [VERIFIER_KEY])).toThrow(
        new NotProved('the log holds something other than a record in that place'),
      )
    }
  })

  it('proves nothing, or the same, when any one bit is flipped', async () => {
    const bytes = Buffer.from(await prove(7))
    for (let i = 0; i < bytes.length; i++) {
      const flipped = Buffer.from(bytes)
      flipped.writeUInt8(bytes.readUInt8(i) ^ 1, i)
      try {
        expect(openProof(flipped.toString('utf8'), [VERIFIER_KEY]).record).toBe(texts[6])
      } catch (error) {
        expect(error).toBeInstanceOf(NotProved)
      }
    }
  })
})

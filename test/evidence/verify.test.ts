import { describe, expect, it } from 'vitest'
import { signCheckpoint, signingKeyOf, verifierKey } from '../../src/domain/checkpoint.ts'
import { canonicalJson, leafHash } from '../../src/domain/digest.ts'
import { EMPTY_TREE, grown, rootOf } from '../../src/domain/merkle.ts'
import { type Proofs, type Verdict, verifyEvidence } from '../../src/evidence/verify.ts'

/** The tamper matrix: whatever is done to an export, kept checkpoints and receipts find it. */

const ORIGIN = 'countersign/0a/acme'
const key = signingKeyOf(Buffer.alloc(32, 1))
const records = Array.from({ length: 100 }, (_, i) => canonicalJson({ a: i, text: `é\u2028"record":${i}` }))
const lineOf = (record: string, number: number): string =>
  `{"number":${number},"leaf_hash":"${leafHash(record)}","commit_id":"c\\"${number}","record":${record}}`
const linesOf = (texts: readonly string[]): string[] => texts.map((text, i) => lineOf(text, i + 1))

function noteOf(texts: readonly string[], size: number, signer = key): string {
  const root = rootOf(grown(EMPTY_TREE, texts.slice(0, size).map(leafHash)))
  return signCheckpoint({ origin: ORIGIN, size, root, at: `2026-11-20T12:00:0${size % 10}.000Z` }, signer)
}

const kept: Proofs = {
  notes: [noteOf(records, 40), noteOf(records, 90)],
  verifierKey: verifierKey(ORIGIN, key.public),
  receipts: [`95:${leafHash(records[94] ?? '')}`],
}

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  for (const line of lines) yield await Promise.resolve(line)
}
const verify = (lines: readonly string[], proofs: Partial<Proofs> = {}): Promise<Verdict> =>
  verifyEvidence(each(lines), { ...kept, ...proofs })

/** The history written anew, numbers and hashes and all. */
const rewritten = (change: (texts: string[]) => void): string[] => {
  const texts = [...records]
  change(texts)
  return linesOf(texts)
}
const FORGED = canonicalJson({ forged: true })

describe('evidence as it was', () => {
  it('holds, and says how far it is signed', async () => {
    const verdict = await verify([...linesOf(records), ''])
    expect(verdict).toMatchObject({ faults: [], records: 100, unsigned: 10, signed: { size: 90 } })
  })

  it('holds with nothing in it', async () => {
    const proofs = { notes: [noteOf([], 0)], receipts: [] }
    expect(await verify([], proofs)).toMatchObject({ faults: [], records: 0, signed: { size: 0 } })
  })
})

describe('evidence that was tampered with', () => {
  it.each([
    ['one record edited', rewritten((texts) => void (texts[32] = FORGED))],
    ['one deleted', rewritten((texts) => void texts.splice(32, 1))],
    ['two swapped', rewritten((texts) => void texts.splice(32, 2, texts[33] ?? '', texts[32] ?? ''))],
    ['one inserted', rewritten((texts) => void texts.splice(32, 0, FORGED))],
    ['one doubled', rewritten((texts) => void texts.splice(32, 0, texts[32] ?? ''))],
    ['the end cut off, checkpoint and all', rewritten((texts) => void texts.splice(80))],
    ['all of it replaced', rewritten((texts) => texts.fill(FORGED))],
    [
      'one after the last checkpoint edited, of which there is a receipt',
      rewritten((texts) => void (texts[94] = FORGED)),
    ],
    ['the end cut off down to the last checkpoint', rewritten((texts) => void texts.splice(90))],
  ])('%s: is found', async (_, lines) => {
    expect((await verify(lines)).faults).not.toEqual([])
  })

  it('what no checkpoint and no receipt speaks for is not found, and that is said', async () => {
    const lines = rewritten((texts) => void (texts[97] = FORGED))
    expect(await verify(lines)).toMatchObject({ faults: [], unsigned: 10 })
  })

  it('names what is wrong', async () => {
    const lines = linesOf(records)
    lines[4] = lineOf(records[4] ?? '', 6)
    lines[5] = (lines[5] ?? '').replace(/"leaf_hash":"../, '"leaf_hash":"00')
    lines[6] = lineOf('{"b":1,"a":2}', 7)
    lines[7] = 'x'
    const { faults } = await verify(lines)
    expect(faults.slice(0, 5)).toEqual([
      'record 6 stands where 5 is due',
      'record 6 does not have the hash that stands beside it',
      'record 7 is not RFC 8785 JSON',
      'line 8 is not a line of `countersign evidence export`',
      'the first 40 records are not those that were signed at 2026-11-20T12:00:00.000Z',
    ])
  })
})

describe('proofs', () => {
  it('that contradict each other, that another key has signed, or that are none, are found', async () => {
    const stranger = signingKeyOf(Buffer.alloc(32, 2))
    const other = [FORGED, ...records.slice(1)]
    const notes = [noteOf(records, 40), noteOf(other, 40), noteOf(records, 40, stranger), 'x']
    const { faults } = await verify(linesOf(records), { notes, receipts: ['7', `101:${'0'.repeat(64)}`] })
    expect(faults).toEqual([
      'checkpoint 3 is not signed by this key',
      'checkpoint 4 is not signed by this key',
      '`7` is no receipt',
      'the first 40 records are not those that were signed at 2026-11-20T12:00:00.000Z',
      'record 101, of which there is a receipt, is not there',
    ])
  })
})

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  type Checkpoint,
  openCheckpoint,
  signCheckpoint,
  signingKeyOf,
  verifierKey,
} from '../../src/domain/checkpoint.ts'
import { leafHash } from '../../src/domain/digest.ts'
import { type Proofs, type Verdict, verifyEvidence } from '../../src/evidence/verify.ts'
import { inPieces } from '../backup/file-of.ts'
import {
  at,
  KEY,
  KEYS,
  keyOf,
  lineOf,
  linesOf,
  noteOf,
  ORIGIN,
  pending,
  REDEEMED,
  refused,
  reported,
  textsOf,
  voted,
  VERIFIER_KEY,
} from './records.ts'

/** The tamper matrix: whatever is done to an export, kept checkpoints and receipts find it. */

const records = textsOf([
  keyOf('agent', 'bot'),
  ...Array.from({ length: 99 }, (_, i) => reported(`é\u2028"record":${i}`)),
])

const kept: Proofs = {
  notes: [noteOf(records, 40), noteOf(records, 90)],
  verifierKeys: [VERIFIER_KEY],
  receipts: [`95:${leafHash(records[94] ?? '')}`],
}

const verify = (lines: readonly string[], proofs: Partial<Proofs> = {}): Promise<Verdict> =>
  verifyBytes(lines.map((line) => `${line}\n`).join(''), proofs)
const verifyBytes = (bytes: string | Buffer, proofs: Partial<Proofs> = {}): Promise<Verdict> =>
  verifyEvidence(inPieces(bytes, 100), { ...kept, ...proofs })

/** The history written anew, numbers and hashes and all. */
const rewritten = (change: (texts: string[]) => void): string[] => {
  const texts = [...records]
  change(texts)
  return linesOf(texts)
}
const [FORGED = ''] = textsOf([reported('forged')])

const textsIn = ({ faults }: Verdict): string[] => faults.map(({ text }) => text)

describe('unaltered evidence', () => {
  it('passes, and reports how many records are signed', async () => {
    const verdict = await verify([...linesOf(records), ''])
    expect(verdict).toMatchObject({ faults: [], records: 100, unsigned: 10, signed: { size: 90 } })
  })

  it('is not compared with every checkpoint again for each record', async () => {
    let walks = 0
    /** A list that is made of it by `map` and its like counts as well. */
    class Counted<T> extends Array<T> {
      override [Symbol.iterator](): ArrayIterator<T> {
        walks += 1
        return super[Symbol.iterator]()
      }
    }
    const notes = Counted.from([10, 40, 40, 90], (size) => noteOf(records, size))
    expect(await verify(linesOf(records), { notes })).toMatchObject({ faults: [], signed: { size: 90 } })
    expect(walks).toBeLessThan(10)
  })

  it('passes when it is empty', async () => {
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

  it('reports how many records no checkpoint and no receipt covers, and misses a change there', async () => {
    const lines = rewritten((texts) => void (texts[97] = FORGED))
    expect(await verify(lines)).toMatchObject({ faults: [], unsigned: 10 })
  })

  it('names each fault', async () => {
    const lines = linesOf(records)
    lines[4] = lineOf(records[4] ?? '', 6)
    lines[5] = (lines[5] ?? '').replace(/"leaf_hash":".{8}/, '"leaf_hash":"00000000')
    lines[6] = lineOf('{"b":1,"a":2}', 7)
    lines[7] = 'x'
    const faults = textsIn(await verify(lines))
    expect(faults.slice(0, 5)).toEqual([
      'record 6 is in the place of record 5',
      'record 6 does not match its recorded hash',
      'record 7 is not RFC 8785 JSON',
      'line 8 is not a line of `countersign evidence export`',
      'the first 40 records are not the records that were signed at 2026-11-20T12:00:00.000Z',
    ])
  })
})

describe('a file that is not the exact export', () => {
  const whole = linesOf(records).join('\n')
  const [replaced = ''] = textsOf([reported('\ufffd')])
  const lines = (text: string): string => `line ${text}`

  it.each([
    ['a byte that is no UTF-8, where the record holds U+FFFD', 'is not UTF-8', notUtf8(replaced)],
    ['carriage returns', 'ends with a carriage return', Buffer.from(whole.replaceAll('\n', '\r\n'))],
    ['a byte order mark', 'begins with a byte order mark', Buffer.from(`\ufeff${whole}`)],
    ['UTF-16', 'is UTF-16', Buffer.from(`\ufeff${whole}`, 'utf16le')],
    ['gzip around it', 'is the beginning of a gzip file', gzipSync(whole)],
    ['a number with a zero in front', 'is not a line of', Buffer.from(whole.replace(':1,', ':01,'))],
    [
      'a commit id longer than any',
      'is not a line of',
      Buffer.from(whole.replace('"record"', `"commit_id":"${'\\"'.repeat(4e6)}c","record"`)),
    ],
  ])('reports an export with %s', async (_, what, bytes) => {
    const [fault] = textsIn(await verifyBytes(bytes))
    expect(fault).toContain(lines(`1 ${what}`))
  })

  /** A line with a record in which the three bytes of U+FFFD are one byte that decodes to it. */
  function notUtf8(record: string): Buffer {
    const line = Buffer.from(lineOf(record, 1), 'utf8').toString('latin1')
    return Buffer.from(line.replace('\u00ef\u00bf\u00bd', '\u00ff'), 'latin1')
  }

  it('reports an endless line before it fills memory', async () => {
    const [fault] = textsIn(await verifyEvidence(endless(), kept))
    expect(fault).toBe('line 1 is longer than any record: the rest of the file was not read')
  })

  async function* endless(): AsyncGenerator<Buffer> {
    for (const piece = Buffer.alloc(1024 * 1024, 'a'); ;) yield piece
  }

  it('accepts the longest record that a store accepts', async () => {
    const details = { id: '\u2028'.repeat(16 * 1024 * 1024 - 400) }
    const [text = ''] = textsOf([keyOf('agent', 'bot', details)])
    const proofs = { notes: [], receipts: [`1:${leafHash(text)}`] }
    expect(
      (await verifyEvidence(inPieces(lineOf(text, 1), 1_000_000), { ...kept, ...proofs })).faults,
    ).toEqual([])
  })
})

describe('faults', () => {
  it('faults are named by the line number of an editor, which counts empty lines', async () => {
    const [one = '', ...more] = linesOf(records)
    const texts = textsIn(await verify([one, '', '', 'garbage', ...more]))
    expect(texts[0]).toBe('line 4 is not a line of `countersign evidence export`')
  })

  it('faults are reported once when they have one cause', async () => {
    const faults = textsIn(await verify(linesOf(records).toSpliced(94, 1), { receipts: [] }))
    expect(faults).toEqual(['record 96 is in the place of record 95'])
    const twice = linesOf(records)
    const again = await verify(twice.toSpliced(94, 0, twice[93] ?? ''), { receipts: [] })
    expect(textsIn(again)).toEqual(['record 94 is in the place of record 95'])
  })

  it('faults beyond the first hundred are only counted', async () => {
    const { faults, omitted } = await verify(Array.from({ length: 150 }, () => 'x'))
    expect([faults.length, omitted]).toEqual([100, 53])
  })

  it('reports a failed property even when another one has too many faults', async () => {
    const proofs = { notes: [], receipts: [`140:${leafHash(FORGED)}`] }
    const { faults } = await verify(
      Array.from({ length: 150 }, () => 'x'),
      proofs,
    )
    expect(faults.at(-1)).toEqual({ property: 'inclusion', text: 'record 140 does not match its receipt' })
  })
})

describe('evidence of another tenant', () => {
  it('is reported even where no checkpoint covers it', async () => {
    const other = (text: string): string => text.replace('acme', 'globex')
    const faults = textsIn(await verify(linesOf([...records.slice(0, 98), ...records.slice(98).map(other)])))
    expect(faults).toEqual([
      'record 99 does not belong to tenant `acme`, which owns the key',
      'record 100 does not belong to tenant `acme`, which owns the key',
    ])
  })
})

describe('proofs', () => {
  it('names the other log of a checkpoint', async () => {
    const note = noteOf(records, 40).replaceAll('0a/acme', '0a/globex')
    expect(textsIn(await verify(linesOf(records), { notes: [note] }))).toEqual([
      'checkpoint 1 belongs to `countersign/0a/globex`, but the key belongs to `countersign/0a/acme`',
    ])
  })

  it('proofs are reported when line ends were converted', async () => {
    const note = noteOf(records, 40).replaceAll('\n', '\r\n')
    expect(textsIn(await verify(linesOf(records), { notes: [note] }))).toEqual([
      'checkpoint 1 has carriage returns: the file was converted after it was written',
    ])
  })

  it('proofs are reported when the key is invalid, even with receipts only', async () => {
    const faults = textsIn(await verify(linesOf(records), { notes: [], verifierKeys: ['garbage'] }))
    expect(faults).toEqual(['the key is not a verifier key of evidence'])
  })

  it('proofs agree when they are signed by the keys before and after a rotation', async () => {
    const next = signingKeyOf(Buffer.alloc(32, 2))
    const verifierKeys = [VERIFIER_KEY, verifierKey(ORIGIN, next.public)]
    const notes = [noteOf(records, 40), noteOf(records, 90, next)]
    expect(await verify(linesOf(records), { notes, verifierKeys })).toMatchObject({
      faults: [],
      unsigned: 10,
    })
    const other = noteOf([FORGED, ...records.slice(1)], 40, next)
    expect(
      textsIn(await verify(linesOf(records), { notes: [notes[0] ?? '', other], verifierKeys })),
    ).toContain('two different histories of 40 records were signed')
  })

  it('proofs are reported when the keys belong to two logs, or one is invalid', async () => {
    const other = verifierKey('countersign/0b/acme', signingKeyOf(Buffer.alloc(32, 2)).public)
    expect(textsIn(await verify(linesOf(records), { verifierKeys: [VERIFIER_KEY, other] }))).toEqual([
      'the keys belong to more than one log',
    ])
    expect(textsIn(await verify(linesOf(records), { verifierKeys: [VERIFIER_KEY, 'x'] }))).toEqual([
      'the key is not a verifier key of evidence',
    ])
  })

  it('proofs are reported when they were signed before their records were written', async () => {
    const texts = textsOf([keyOf('agent', 'bot'), { ...reported('late'), at: at(400) }])
    const signedAt = (seconds: number): string =>
      signCheckpoint({ ...checkpointIn(noteOf(texts, 2)), at: at(seconds) }, KEY)
    const verdict = (seconds: number): Promise<Verdict> =>
      verify(linesOf(texts), { notes: [signedAt(seconds)], receipts: [] })
    expect((await verdict(100)).faults).toEqual([])
    expect((await verdict(99)).faults).toEqual([
      {
        property: 'consistency',
        text: `2 records were signed at ${at(99)}, but one of them has the time ${at(400)}`,
      },
    ])
    expect(
      (await verify(linesOf(texts), { notes: [noteOf(texts, 1), signedAt(400)], receipts: [] })).faults,
    ).toEqual([])
  })

  it('proofs are reported when they contradict each other, are invalid, or have another signer', async () => {
    const stranger = signingKeyOf(Buffer.alloc(32, 2))
    const other = [FORGED, ...records.slice(1)]
    const notes = [noteOf(records, 40), noteOf(other, 40), noteOf(records, 40, stranger), 'x']
    const receipts = ['7', `101:${'0'.repeat(64)}`]
    const { faults } = await verify(linesOf(records), { notes, receipts })
    expect(faults.map(({ property, text }) => `${property}: ${text}`)).toEqual([
      'signature: checkpoint 3 is not signed by this key',
      'signature: checkpoint 4 is not signed by this key',
      'inclusion: `7` is not a receipt',
      'consistency: two different histories of 40 records were signed',
      'inclusion: the first 40 records are not the records that were signed at 2026-11-20T12:00:00.000Z',
      'inclusion: record 101, for which a receipt exists, is missing',
    ])
  })
})

describe('the history in the records', () => {
  const story = textsOf([...KEYS, ...REDEEMED])
  const told = (texts: readonly string[]): Promise<Verdict> =>
    verify(linesOf(texts), { notes: [noteOf(texts, texts.length)], receipts: [] })

  it('is summarised in the verdict', async () => {
    const threads = { pending_review: 0, changes_requested: 0, approved: 1, rejected: 0 }
    expect(await told(story)).toMatchObject({
      faults: [],
      story: { allowed: 0, rejected: 0, threads, redeemed: 1 },
    })
  })

  it('is refused when it is impossible, under any signature', async () => {
    const { faults } = await told(story.toSpliced(4, 1))
    expect(faults).toEqual([
      {
        property: 'completeness',
        text: 'record 5 cannot have happened: the vote that caused it is not the previous record',
      },
    ])
  })

  it('is not replayed after a gap, which would cause false contradictions', async () => {
    expect(textsIn(await told([...story, ...textsOf([refused('expired')])]))).toHaveLength(1)
    const { faults } = await verify(linesOf(story).toSpliced(0, 1), { notes: [], receipts: [] })
    expect(faults.map(({ text }) => text)).toEqual(['record 2 is in the place of record 1'])
  })

  it('is incomplete when the export cuts a commit in two', async () => {
    const rejected = textsOf([...KEYS, pending(), voted('reviewer:ann', 'reject')])
    expect(textsIn(await told(rejected))).toEqual([
      'the export ends before `review.rejected` of thr_1, which is written together with its last record',
    ])
  })
})

describe('an export that was replayed', () => {
  const wholeIn = async (lines: readonly string[]): Promise<boolean> => (await verify(lines)).whole

  it('is whole only if no record is missing, unreadable or of another tenant', async () => {
    expect(await wholeIn(linesOf(records))).toBe(true)
    expect(await wholeIn(linesOf(records).toSpliced(94, 1))).toBe(false)
    expect(await wholeIn(linesOf(records).with(3, 'x'))).toBe(false)
    expect(await wholeIn(rewritten((texts) => texts.splice(3, 1, FORGED.replace('acme', 'globex'))))).toBe(
      false,
    )
    expect((await verifyEvidence(endlessAfter(linesOf(records)), kept)).whole).toBe(false)
  })

  async function* endlessAfter(lines: readonly string[]): AsyncGenerator<Buffer> {
    yield Buffer.from(lines.map((line) => `${line}\n`).join(''))
    for (const piece = Buffer.alloc(1024 * 1024, 'a'); ;) yield piece
  }
})

const checkpointIn = (note: string): Checkpoint => openCheckpoint(note, VERIFIER_KEY) as Checkpoint

describe('freshness', () => {
  const since = (seconds: number): Promise<Verdict> =>
    verify(linesOf(records), { receipts: [], freshSince: Date.parse(at(seconds)) })

  it('is the time of the newest matching checkpoint', async () => {
    const signed = { notes: [noteOf(records, 43), noteOf(records, 91)], receipts: [] }
    expect((await verify(linesOf(records), { ...signed, freshSince: Date.parse(at(1)) })).faults).toEqual([])
    const { faults } = await verify(linesOf(records), { ...signed, freshSince: Date.parse(at(2)) })
    expect(faults).toEqual([
      { property: 'freshness', text: `no matching checkpoint was signed since ${at(2)}` },
    ])
  })

  it('is unknown when the newest checkpoint has a future time', async () => {
    const signed = { notes: [noteOf(records, 93)], receipts: [], freshSince: Date.parse(at(1)) }
    expect((await verify(linesOf(records), { ...signed, freshUntil: Date.parse(at(3)) })).faults).toEqual([])
    const { faults } = await verify(linesOf(records), { ...signed, freshUntil: Date.parse(at(2)) })
    expect(faults).toEqual([
      {
        property: 'freshness',
        text: `the newest matching checkpoint has the time ${at(3)}, which is in the future: the age of the evidence is unknown`,
      },
    ])
  })

  it("is unknown when the checkpoint's time is invalid", async () => {
    const note = signCheckpoint({ ...checkpointIn(noteOf(records, 93)), at: '2026-99-20T12:00:00.000Z' }, KEY)
    const { faults } = await verify(linesOf(records), { notes: [note], receipts: [], freshSince: 0 })
    expect(faults.map(({ property }) => property)).toEqual(['freshness'])
  })

  it('is the later time of two checkpoints over the same records, in any order', async () => {
    const note = noteOf(records, 41)
    const later = signCheckpoint({ ...checkpointIn(note), at: at(50) }, KEY)
    for (const notes of [
      [note, later],
      [later, note],
    ]) {
      const verdict = await verify(linesOf(records), { notes, receipts: [], freshSince: Date.parse(at(50)) })
      expect([verdict.faults, verdict.signed?.at]).toEqual([[], at(50)])
    }
  })

  it('is unknown without a checkpoint', async () => {
    expect(textsIn(await since(0))).toEqual([])
    const { faults } = await verify(linesOf(records), { notes: [], freshSince: 0 })
    expect(faults.map(({ property }) => property)).toEqual(['freshness'])
  })
})

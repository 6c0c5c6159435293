import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readBackup } from '../../src/backup/read.ts'
import { verifyBackup } from '../../src/backup/restore.ts'
import { commitOf } from '../store/commit-of.ts'
import { type Place, Places } from '../store/places.ts'
import { backupOf, inPieces, restoreFrom } from './file-of.ts'

/** The restore refuses every backup that differs from the written one, and none of its data can be used. */

const places = new Places()
afterAll(() => places.dispose())

let from: Place
let backup: Buffer

beforeAll(async () => {
  from = places.embedded()
  const store = await from.open()
  for (const partition of ['acme', 'globex'])
    for (let i = 0; i < 3; i++)
      await store.commit(
        partition,
        commitOf(store, {
          writes: [
            { op: 'put', type: 'thread', id: `t${i}`, body: `{"at":${i},"é":"\u2028"}` },
            { op: 'index', index: 'due', member: `t${i}`, to: i },
            { op: 'charge', limit: 'sum', windowMs: 60_000, at: store.now(), amount: 5 },
            { op: 'mark', index: 'evidence/t' },
          ],
          events: ['{"n":1}', '{"n":2}'],
        }),
      )
  await store.close()
  backup = Buffer.from(await backupOf(await from.archive()))
})

const refusal = (bytes: Buffer): Promise<string> =>
  verifyBackup(inPieces(bytes, 77)).then(
    () => 'accepted',
    (error: Error) => error.name,
  )

describe('a damaged backup', () => {
  it('is accepted before the damage', async () => {
    expect(await refusal(backup)).toBe('accepted')
  })

  it('is refused when any single byte is altered', async () => {
    const accepted: number[] = []
    for (let at = 0; at < backup.length; at++) {
      const altered = Buffer.from(backup)
      altered[at] = (altered[at] ?? 0) ^ 0x01
      if (!/^(DamagedBackup|OtherFormat)$/.test(await refusal(altered))) accepted.push(at)
    }
    expect(accepted).toEqual([])
  })

  it('is refused when it is cut off at any byte', async () => {
    const accepted: number[] = []
    for (let end = 0; end < backup.length; end++)
      if ((await refusal(backup.subarray(0, end))) !== 'DamagedBackup') accepted.push(end)
    expect(accepted).toEqual([])
  })

  it('is refused when any line is missing, repeated, or swapped with the next', async () => {
    const lines = backup.toString().trimEnd().split('\n')
    const joined = (some: readonly string[]): Buffer => Buffer.from(`${some.join('\n')}\n`)
    for (const [i, line] of lines.entries()) {
      const next = lines[i + 1]
      expect(await refusal(joined(lines.toSpliced(i, 1))), `without line ${i + 1}`).toBe('DamagedBackup')
      expect(await refusal(joined(lines.toSpliced(i, 0, line))), `line ${i + 1} twice`).toBe('DamagedBackup')
      if (next !== undefined)
        expect(await refusal(joined(lines.toSpliced(i, 2, next, line)))).toBe('DamagedBackup')
    }
  })

  it('names the line', async () => {
    const text = backup.toString().replace('"event":2', '"event":7')
    await expect(verifyBackup(inPieces(text))).rejects.toThrow(
      'line 4: it breaks law S06: event 2 is missing: event 7 follows 1',
    )
    await expect(verifyBackup(inPieces('hello\n'))).rejects.toThrow('line 1: this is not a backup')
    await expect(verifyBackup(inPieces(''))).rejects.toThrow('cut off after line 0')
  })

  it('is refused at a line that is too long, and is not read further', async () => {
    let pieces = 0
    async function* zeros(): AsyncGenerator<Buffer> {
      yield Buffer.from('{"format":"countersign/5"}\n')
      for (const piece = Buffer.alloc(1024 * 1024); pieces < 1_000; pieces++) yield piece
    }
    await expect(verifyBackup(zeros())).rejects.toThrow('line 2: it is longer than any line of a backup')
    expect(pieces).toBeLessThan(200)
  })

  it('names another format when it refuses it', async () => {
    const text = backup
      .toString()
      .replace('"format":"countersign/5"', '"format":"countersign-store","version":2')
    await expect(verifyBackup(inPieces(text))).rejects.toThrow(
      'the backup has the format `countersign-store`, and this program reads `countersign/5` only',
    )
  })

  it.each(['embedded', 'redis'] as const)(
    'leaves an empty %s store empty when a restore fails',
    async (kind) => {
      const place = await places.of(kind)
      const altered = Buffer.from(backup)
      const at = altered.indexOf('"body":"{') + 12
      altered[at] = (altered[at] ?? 0) ^ 0x01
      await expect(restoreFrom(altered, await place.restore())).rejects.toThrow()
      await expect(restoreFrom(backup.subarray(0, 900), await place.restore())).rejects.toThrow('cut off')
      await restoreFrom(backup, await place.restore())
      expect(await backupOf(await place.archive())).toBe(backup.toString())
    },
  )
})

describe('a backup written by hand', () => {
  /** With an end that adds up. */
  const sealed = (lines: readonly string[], totals: string): string => {
    const text = lines.map((line) => `${line}\n`).join('')
    return `${text}{"end":${totals},"sha256":"${createHash('sha256').update(text).digest('hex')}"}\n`
  }
  const header = '{"format":"countersign/5"}'
  const totals = '[{"partition":"a","last":0,"events":0,"index":1,"limits":0,"records":0}]'

  it.each([
    ['{"record":"t","id":"i","revision":0,"commit":"c","body":""}', 'S10'],
    ['{"record":"t","id":"i","revision":1,"commit":"","body":""}', 'S14'],
    ['{"index":"i","score":1e999,"member":"m"}', 'S16'],
    [`{"index":"${'i'.repeat(300)}","score":1,"member":"m"}`, 'S16'],
    ['{"limit":"l","width":0,"buckets":[[1,1]]}', 'S18'],
    ['{"limit":"l","width":1,"buckets":[[1,-1]]}', 'S18'],
    ['{"limit":"l","width":1,"buckets":[1]}', 'does not belong to a backup'],
    ['{"event":"1","commit":"c","body":""}', 'does not belong to a backup'],
    ['{"nothing":1}', 'does not belong to a backup'],
    ['[]', 'does not belong to a backup'],
  ])('is refused for %s', async (line, what) => {
    const text = sealed([header, '{"partition":"a"}', line, '{"time":1}'], totals)
    await expect(verifyBackup(inPieces(text))).rejects.toThrow(what)
  })

  it.each([2])('is accepted when it is valid, in version %s', async (version) => {
    const line = '{"index":"i","score":1,"member":"m"}'
    const first = header.replace('2', String(version))
    await verifyBackup(inPieces(sealed([first, '{"partition":"a"}', line, '{"time":1}'], totals)))
  })
})

describe('a backup', () => {
  it('an empty backup reports empty totals', async () => {
    const items: unknown[] = []
    const text = `{"format":"countersign/5"}\n{"time":0}\n`
    const end = `{"end":[],"sha256":"${createHash('sha256').update(text).digest('hex')}"}\n`
    for await (const item of readBackup(inPieces(text + end))) items.push(item)
    expect(items).toMatchObject([{ item: 'end', totals: [], time: 0 }])
  })
})

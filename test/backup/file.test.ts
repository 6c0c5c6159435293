import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { writeFileWhole, writeNameless } from '../../src/backup/file.ts'
import type { Sink, Written } from '../../src/backup/write.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cs-backup-file-'))
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(directory, { recursive: true })
})

const NOTHING: Written = { totals: [], footer: '' }

describe('a file of a backup', () => {
  it('gets its name only when it is complete, and only its owner can read it', async () => {
    const path = join(directory, 'backup')
    await writeFileWhole(path, async (sink) => {
      await sink.write('whole')
      expect(await readdir(directory)).not.toContain('backup')
      return NOTHING
    })
    expect(await readFile(path, 'utf8')).toBe('whole')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readdir(directory)).toEqual(['backup'])
  })

  it('leaves nothing behind when writing fails', async () => {
    const write = async (sink: Sink): Promise<Written> => {
      await sink.write('half')
      throw new Error('no more')
    }
    await expect(writeFileWhole(join(directory, 'backup'), write)).rejects.toThrow('no more')
    expect(await readdir(directory)).toEqual([])
  })

  it('is written even when a killed process with the same id left a partial file', async () => {
    await writeFile(join(directory, `.backup.${process.pid}`), 'half')
    await writeFileWhole(join(directory, 'backup'), () => Promise.resolve(NOTHING))
    expect(await readdir(directory)).toContain('backup')
  })
})

describe('a file without a name', () => {
  it('appears in no directory, not even while it is written and read', async () => {
    vi.stubEnv('TMPDIR', directory)
    let text = ''
    const write = async (sink: Sink): Promise<void> => {
      await sink.write('lost')
      await sink.rewind(0)
      await sink.write('one')
      expect(await readdir(directory)).toEqual([])
    }
    for await (const chunk of writeNameless(write)) {
      text += Buffer.from(chunk).toString()
      expect(await readdir(directory)).toEqual([])
    }
    expect(text).toBe('one')
  })
})

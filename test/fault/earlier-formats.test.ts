import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { runCli } from '../cli/run.ts'
import { inDirectory, SMALL_CENTS, startGateway, transfer, TRANSFER_PATH } from './gateway.ts'

/**
 * One small data directory of each format that was in use. The version of 24 November 2026 (f345105) wrote format 1. It
 * holds one allowed call, four waiting calls and one approved call that was not collected. Two of the waiting calls are
 * equal.
 */
const FORMATS = ['format-1']
const AGENT_KEY = 'csk_acme_kNETCl6yPQ3lFWQCZreLt2C_GL5Z1pbDQhz02C1JtUEYtsAyG'
const REVIEWER_KEY = 'csr_acme_m_fb0GxbgDw_mVTCtr8czRGq23OVzmSwTTMpB-g7WBMNFJ-z4'
const ADMIN_KEY = 'the-admin-key-of-the-old-data-directory'

describe.each(FORMATS)('a data directory of %s', (format) => {
  it('is checked, opened, worked on, exported and moved without a fault', async () => {
    await inDirectory(async (directory) => {
      const from = fileURLToPath(new URL(`../data/${format}/`, import.meta.url))
      const data = join(directory, 'data')
      mkdirSync(data, { mode: 0o700 })
      copyFileSync(join(from, 'store.json'), join(data, 'store.json'))
      writeFileSync(join(data, 'store.mdb'), gunzipSync(readFileSync(join(from, 'store.mdb.gz'))))
      const store = (...args: string[]) => runCli(['store', ...args], { cwd: directory })
      const here = ['--store', `file:${data}`]
      const fine = { code: 0, out: expect.stringMatching(/^fine: nothing found/) as string }
      expect(await store('check', ...here)).toMatchObject(fine)

      const gateway = await startGateway({
        directory,
        args: ['--accept-clock', '9999-12-31'],
        through: [`COUNTERSIGN_ADMIN_KEY=${ADMIN_KEY}`],
      })
      const ask = (method: string, path: string, key: string, body?: object) =>
        gateway.ask({ method, path, key, ...(body && { body }) })
      const { body } = await ask('GET', '/api/review/threads?status=rejected', REVIEWER_KEY)
      const { body: waiting } = await ask('GET', '/api/review/threads', REVIEWER_KEY)
      const listed = [body, waiting].flatMap(({ threads }) => threads as { thread_id: string }[])
      expect(new Set(listed.map(({ thread_id }) => thread_id)).size).toBe(5)
      const call = { method: 'POST', path: TRANSFER_PATH('new'), key: AGENT_KEY, body: transfer(SMALL_CENTS) }
      expect((await gateway.ask(call)).body['status']).toBe('allow')
      for (const cents of [25_000, 25_000])
        expect((await ask('POST', TRANSFER_PATH('t2'), AGENT_KEY, transfer(cents))).body['status']).toBe(
          'pending_review',
        )
      expect(await store('check', ...here)).toMatchObject(fine)
      gateway.hangUp()
      expect((await gateway.process.kill('SIGTERM')).code).toBe(0)

      const backup = join(directory, 'backup')
      expect((await store('export', backup, ...here)).code).toBe(0)
      const moved = ['--store', `file:${directory}/moved`]
      expect((await store('restore', backup, ...moved)).code).toBe(0)
      expect(await store('check', ...moved)).toMatchObject(fine)
    })
  })
})

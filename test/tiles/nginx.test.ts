import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { verifierKey } from '../../src/domain/checkpoint.ts'
import { originOf } from '../../src/gateway/jobs/checkpoints.ts'
import { freePort } from '../ports.ts'
import { spawnSync } from '../sync-child.ts'
import { until } from '../until.ts'
import { fsckAt, FSCK } from './fsck.ts'
import { IDENTITY, Lab, TENANT } from './lab.ts'

/** The server of docs/evidence.md, on machines with nginx. */
const NGINX = ['/usr/sbin/nginx', '/usr/bin/nginx'].find(
  (path) => spawnSync('test', ['-x', path], { timeout: 10_000 }).status === 0,
)
let lab: Lab
beforeEach(() => {
  lab = new Lab()
})
afterEach(() => lab.dispose())

describe.skipIf(NGINX === undefined)('nginx before a directory of tiles', () => {
  it("gives Tessera's fsck and every client the whole log", async () => {
    await lab.add(300)
    await lab.publish()
    const [port, place] = [await freePort(), join(lab.directory, 'nginx')]
    mkdirSync(place)
    const [, server = ''] = /```nginx\n(.*?)```/s.exec(readFileSync('docs/evidence.md', 'utf8')) ?? []
    const own = server
      .replace('8080', String(port))
      .replace(/root .*;/, `root ${lab.directory}/tiles/${TENANT};`)
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${place};`,
    )
    const user = process.getuid?.() === 0 ? 'user root;' : ''
    const main = `${user} daemon off; pid ${place}/pid; error_log stderr; events { }\n`
    writeFileSync(join(place, 'conf'), `${main}http { access_log off; ${temporary.join(' ')}\n${own}}\n`)
    chmodSync(place, 0o700)
    const child = spawn(NGINX ?? '', ['-c', join(place, 'conf'), '-p', place], { stdio: 'ignore' })
    try {
      const url = `http://127.0.0.1:${port}/`
      await until(async () => (await fetch(`${url}checkpoint`).catch(() => undefined))?.ok === true)
      const plain = await fetch(`${url}tile/entries/000`, { headers: { 'accept-encoding': 'identity' } })
      expect([plain.status, plain.headers.get('content-encoding')]).toEqual([200, null])
      expect(Buffer.from(await plain.arrayBuffer()).readUInt16BE(0)).toBeLessThan(200)
      if (FSCK === undefined) return
      const key = verifierKey(originOf(IDENTITY, TENANT, 1), IDENTITY.key.public)
      expect(await fsckAt(FSCK, url, { key, keyFile: join(lab.directory, 'key'), seconds: 60 })).toBe(300)
    } finally {
      child.kill('SIGTERM')
    }
  })
})

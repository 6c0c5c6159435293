import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { spawnSync } from '../sync-child.ts'
import {
  evidenceAfter,
  type Gateway,
  inDirectory,
  SMALL_CENTS,
  startGateway,
  transfer,
  TRANSFER_PATH,
} from './gateway.ts'
import { until } from '../until.ts'

/** A small disk of its own for the gateway, which is filled from outside until writes fail. */

const MOUNT = 'mount -t tmpfs -o size=48m tmpfs "$0" && echo mounted && cat'
const mayMount =
  spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt && command -v nsenter'], { input: '' })
    .status === 0
if (!mayMount) console.log('skipped: a full disk (no permission to mount a tmpfs)')

interface Disk {
  /** The command that runs another command on the disk. */
  readonly through: readonly string[]
  /** A path of the disk, as this process sees it. */
  path(name: string): string
  end(): void
}

async function mountDisk(directory: string): Promise<Disk> {
  const holder = spawn('unshare', ['-m', 'sh', '-c', MOUNT, directory], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(holder.stdout, 'data')
  const { pid = 0 } = holder
  return {
    through: ['nsenter', '-m', '-t', String(pid), '--'],
    path: (name) => `/proc/${pid}/root${directory}/${name}`,
    end: () => holder.stdin.end(),
  }
}

/** Writes until the disk takes nothing more. */
function fill(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (let size = 1024 * 1024; size > 0;) {
      try {
        writeSync(file, Buffer.alloc(size, 1))
      } catch (error) {
        expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC')
        size = size > 1 ? size >> 1 : 0
      }
    }
  } finally {
    closeSync(file)
  }
}

/** Callers without a pause; each receipt that an answer carried is kept. */
function callers(gateway: Gateway, key: string) {
  const receipts = new Map<number, string>()
  const statuses: number[] = []
  let stopped = false
  const work = async (name: number): Promise<void> => {
    for (let i = 0; !stopped; i++) {
      const path = TRANSFER_PATH(`disk-${name}-${i}`)
      const { status, headers, body } = await gateway.ask({
        method: 'POST',
        path,
        key,
        body: transfer(SMALL_CENTS),
      })
      statuses.push(status)
      if (status !== 200)
        expect(['store_unavailable', 'outcome_unknown', 'overloaded']).toContain(body['code'])
      const [number, leaf = ''] = String(headers['countersign-evidence'] ?? '').split(':')
      if (status === 200) receipts.set(Number(number), leaf)
    }
  }
  const all = Promise.all(Array.from({ length: 8 }, (_, i) => work(i)))
  return {
    receipts,
    count: (status: number): number => statuses.filter((one) => one === status).length,
    stop: async (): Promise<void> => {
      stopped = true
      await all
    },
  }
}

async function expectAll(gateway: Gateway, receipts: ReadonlyMap<number, string>): Promise<void> {
  const leaves = new Map((await evidenceAfter(gateway, 0)).map((one) => [one.number, one.leaf_hash]))
  expect([...receipts].filter(([number, leaf]) => leaves.get(number) !== leaf)).toEqual([])
}

describe('a disk that another program fills', () => {
  it.skipIf(!mayMount)('loses no acknowledged write, and accepts writes again when there is room', () =>
    inDirectory(async (directory) => {
      const disk = await mountDisk(directory)
      try {
        const args = ['--store-min-free', '0', '--store-new-calls-min-free', '0']
        mkdirSync(disk.path('data'))
        const start = (): Promise<Gateway> => startGateway({ directory, args, through: disk.through })
        const gateway = await start()
        const running = callers(gateway, await gateway.key('agent', 'demo-agent'))
        await until(async () => running.count(200) > 200)
        fill(disk.path('filler'))
        await until(async () => running.count(503) > 50)
        expect((await gateway.ask({ path: '/livez' })).status).toBe(200)
        await until(async () => (await gateway.ask({ path: '/readyz' })).status === 503)
        const refusedAt = running.count(200)
        rmSync(disk.path('filler'))
        await until(async () => running.count(200) > refusedAt + 200)
        await running.stop()
        await expectAll(gateway, running.receipts)
        gateway.hangUp()
        await gateway.process.kill('SIGKILL')
        const again = await start()
        await expectAll(again, running.receipts)
        again.hangUp()
        await again.process.kill('SIGTERM')
      } finally {
        disk.end()
      }
    }),
  )
})

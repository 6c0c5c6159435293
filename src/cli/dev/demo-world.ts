import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * The world of the demo agent: a folder that serves as /workspace, and a ledger in a file. The user can inspect both.
 */
export interface DemoWorld {
  readonly directory: string
  readonly writeFile: (payload: { path: string; content: string }) => Promise<string>
  readonly transfer: (payload: {
    from: string
    to: string
    amount_cents: number
    currency: string
  }) => Promise<string>
  balances(): Promise<Record<string, number>>
  /** The content of a file below /workspace, or undefined. */
  fileAt(path: string): Promise<string | undefined>
}

const OPENING = { acct_ops: 1_000_000, acct_travel: 50_000 }

export async function createWorld(): Promise<DemoWorld> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-world-'))
  const ledger = join(directory, 'ledger.json')
  await writeFile(ledger, JSON.stringify(OPENING, null, 2))
  const placeOf = (path: string): string => join(directory, path.replace(/^\/+/, ''))
  const balances = async (): Promise<Record<string, number>> =>
    JSON.parse(await readFile(ledger, 'utf8')) as Record<string, number>
  return {
    directory,
    balances,
    fileAt: (path) => readFile(placeOf(path), 'utf8').catch(() => undefined),
    writeFile: async ({ path, content }) => {
      const place = placeOf(path)
      await mkdir(dirname(place), { recursive: true })
      await writeFile(place, content)
      return `wrote ${Buffer.byteLength(content)} bytes to ${path}`
    },
    transfer: async ({ from, to, amount_cents }) => {
      const now = await balances()
      now[from] = (now[from] ?? 0) - amount_cents
      now[to] = (now[to] ?? 0) + amount_cents
      await writeFile(ledger, JSON.stringify(now, null, 2))
      return `moved ${(amount_cents / 100).toFixed(2)} from ${from} to ${to}`
    },
  }
}

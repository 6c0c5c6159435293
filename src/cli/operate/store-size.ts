import { statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openArchive } from '../../app/store.ts'
import type { Config } from '../../settings/config.ts'
import { type KindSize, sizeOf } from '../../gateway/integrity/size.ts'
import { withProgress } from '../terminal/progress.ts'
import { bytesText, jsonOf, onOneLine } from '../terminal/visible-text.ts'
import { orExplain } from './store-failure.ts'

/** The place of an embedded store, in bytes. */
interface Disk {
  readonly file: number
  readonly free: number
  /** Days until the disk is full, if evidence grows as in the last day. Absent without growth. */
  readonly days?: number
}

/** `countersign store size`: count and bytes of each kind of data, and the growth of evidence. */
export async function sizeStoreOf(config: Config, format: 'text' | 'json'): Promise<void> {
  const sizes = await orExplain('measure the store', async () => {
    const archive = await openArchive(config)
    try {
      return await withProgress('Reading the store', () => sizeOf(archive))
    } finally {
      await archive.close()
    }
  })
  const disk = diskOf(config, sizes)
  if (format === 'json') return console.log(jsonOf({ sizes, ...(disk && { disk }) }))
  for (const line of tableOf(sizes)) console.log(onOneLine(line))
  if (disk !== undefined) console.log(`\n${config.store.shown}: ${diskText(disk)}`)
}

function diskOf({ store }: Config, sizes: readonly KindSize[]): Disk | undefined {
  if (store.kind !== 'embedded') return undefined
  const { bavail, bsize } = statfsSync(store.path)
  const file = statSync(join(store.path, 'store.mdb')).size
  const free = bavail * bsize
  const daily = sizes.reduce((sum, { dayBytes = 0, leaves }) => sum + (leaves ? 0 : dayBytes), 0)
  return { file, free, ...(daily > 0 && { days: Math.floor(free / daily) }) }
}

function diskText({ file, free, days }: Disk): string {
  const full =
    days === undefined
      ? ''
      : `; at the rate of the last day, evidence fills the disk in ${COUNT.format(days)} days`
  return `a file of ${bytesText(file)}, ${bytesText(free)} free${full}`
}

function tableOf(sizes: readonly KindSize[]): string[] {
  const total = (of: (one: KindSize) => number): number => sizes.reduce((sum, one) => sum + of(one), 0)
  const rows = [
    ['tenant', 'kind', 'count', 'size', 'in the last day'],
    ...sizes.map(({ partition, kind, count, bytes, dayBytes }) => [
      partition,
      kind,
      COUNT.format(count),
      bytesText(bytes),
      dayBytes === undefined ? '' : bytesText(dayBytes),
    ]),
    ['all', '', COUNT.format(total(({ count }) => count)), bytesText(total(({ bytes }) => bytes)), ''],
  ]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map(([tenant = '', kind = '', count = '', size = '', day = '']) => {
    const [a = 0, b = 0, c = 0, d = 0] = widths
    return `${tenant.padEnd(a)}  ${kind.padEnd(b)}  ${count.padStart(c)}  ${size.padStart(d)}  ${day}`.trimEnd()
  })
}

const COUNT = new Intl.NumberFormat('en')

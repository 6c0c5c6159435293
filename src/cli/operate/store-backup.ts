import { createReadStream, existsSync, statSync } from 'node:fs'
import { addAbortSignal, type Readable } from 'node:stream'
import { openArchive, openRestore, type RestoreOptions } from '../../app/store.ts'
import { writeFileWhole, writeNameless } from '../../backup/file.ts'
import type { Totals } from '../../backup/format.ts'
import { restoreBackup, verifyBackup } from '../../backup/restore.ts'
import { writeBackup } from '../../backup/write.ts'
import { type Config } from '../../settings/config.ts'
import type { StoreArchive } from '../../store/archive.ts'
import { breakable } from '../terminal/cancellable.ts'
import { CliFailure, usage } from '../terminal/failure.ts'
import { writeOut } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { orExplain } from './store-failure.ts'

const STANDARD = '-'

/** `countersign store export FILE`. The backup is written to standard output only when it is complete. */
export async function exportStore(config: Config, file: string): Promise<void> {
  if (file === STANDARD) return exportToStandardOutput(config)
  if (existsSync(file)) throw usage(`\`${file}\` exists already`, 'name another file, or move it away')
  const { totals } = await orExplain('export the store', () =>
    breakable('the export', (signal) =>
      withProgress('Exporting the store', () =>
        fromArchive(config, (archive) => writeFileWhole(file, (sink) => writeBackup(archive, sink), signal)),
      ),
    ),
  )
  console.log(`wrote ${file}: ${counted(totals)}`)
  for (const line of listed(totals)) console.log(line)
  warnOfTiles(totals, 'keep a copy of them beside the backup')
}

async function exportToStandardOutput(config: Config): Promise<void> {
  let totals: readonly Totals[] = []
  await orExplain('export the store', () =>
    fromArchive(config, (archive) =>
      writeOut(
        writeNameless(async (sink) => {
          totals = (await writeBackup(archive, sink)).totals
        }),
      ),
    ),
  )
  console.error(`wrote ${counted(totals)}`)
  warnOfTiles(totals, 'keep a copy of them beside the backup')
}

async function fromArchive<T>(config: Config, use: (archive: StoreArchive) => Promise<T>): Promise<T> {
  const archive = await openArchive(config)
  try {
    return await use(archive)
  } finally {
    await archive.close()
  }
}

/**
 * `countersign store restore FILE`. Reads a file to its end before changing the store. Standard input cannot be
 * read twice.
 */
export async function restoreStore(config: Config, file: string, options: RestoreOptions): Promise<void> {
  if (file !== STANDARD) requireFile(file)
  const totals = await orExplain('restore', () =>
    breakable('the restore', async (signal) => {
      const read = (): Readable =>
        addAbortSignal(signal, file === STANDARD ? process.stdin : createReadStream(file))
      if (file !== STANDARD) await withProgress('Reading the backup', () => verifyBackup(read()))
      const restore = await openRestore(config, options)
      return withProgress('Restoring the store', () => restoreBackup(read(), restore, signal))
    }),
  )
  console.log(`restored into ${config.store.shown}, read back and compared: ${counted(totals)}`)
  for (const line of listed(totals)) console.log(line)
  console.log('every earlier approval and proof is void; waiting threads can still be decided')
  warnOfTiles(totals, 'bring them to the place of COUNTERSIGN_TILES before a gateway starts')
}

/**
 * Requires a file, because it is read twice and a pipe would block forever the second time.
 *
 * @throws CliFailure
 */
function requireFile(file: string): void {
  if (!existsSync(file)) throw new CliFailure(`there is no file \`${file}\``)
  if (!statSync(file).isFile())
    throw usage(`\`${file}\` cannot be read twice`, 'for a backup from a pipe, use standard input: -')
}

const MOST_LISTED = 20

function listed(totals: readonly Totals[]): string[] {
  const lines = totals
    .slice(0, MOST_LISTED)
    .map(
      ({ partition, last, events, records, index, limits }) =>
        `  ${JSON.stringify(partition).slice(1, -1)}: evidence ${firstOf({ last, events })} to ${last}, ${records} records, ${index} index entries, ${limits} limits`,
    )
  return totals.length > MOST_LISTED ? [...lines, `  ... and ${totals.length - MOST_LISTED} more`] : lines
}

/** The number of the first record; 1 in a partition without evidence. */
const firstOf = ({ last, events }: Pick<Totals, 'last' | 'events'>): number => Math.max(1, last - events + 1)

/** Says that a backup does not have all evidence. */
function warnOfTiles(totals: readonly Totals[], what: string): void {
  if (totals.some((one) => firstOf(one) > 1))
    console.error(`earlier evidence is only in tiles, which are not part of a backup: ${what}`)
}

function counted(totals: readonly Totals[]): string {
  const sum = (kind: 'events' | 'records'): number => totals.reduce((all, one) => all + one[kind], 0)
  return `${totals.length} partitions, ${sum('events')} evidence records, ${sum('records')} records`
}

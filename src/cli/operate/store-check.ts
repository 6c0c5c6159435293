import { openArchive } from '../../app/store.ts'
import { openPlaces, tilesAddressOf } from '../../app/places.ts'
import { EarlierRecords } from '../../app/whole-log.ts'
import { type Config } from '../../settings/config.ts'
import { type CheckReport, checkStore } from '../../gateway/integrity/store.ts'
import { lossText } from '../../evidence/loss-check.ts'
import { EXIT } from '../terminal/failure.ts'
import { withProgress } from '../terminal/progress.ts'
import { orExplain } from './store-failure.ts'
import { jsonOf, onOneLine } from '../terminal/visible-text.ts'

/** `countersign store check`. Exits with 3 when it finds a problem. */
export async function checkStoreOf(config: Config, format: 'text' | 'json'): Promise<void> {
  const report = await orExplain('check the store', async () => {
    const places = await openPlaces(tilesAddressOf(config), config)
    const archive = await openArchive(config)
    const tiles = new EarlierRecords(places)
    try {
      return await withProgress('Checking the store', () =>
        checkStore(archive, (tenant, range) => tiles.read(tenant, range)),
      )
    } finally {
      await archive.close()
      places?.close()
    }
  })
  if (report.findings.length > 0) process.exitCode = EXIT.doesNotCheck
  if (format === 'json') return console.log(jsonOf(asJson(report)))
  for (const { law, partition, what } of report.findings)
    console.log(onOneLine(`${law} ${partition}: ${what}`))
  if (report.omitted > 0) console.log(`... and ${report.omitted} more`)
  for (const { partition, ...one } of report.lost) console.log(onOneLine(`${partition}: ${lossText(one)}`))
  console.log(`${verdict(report)} in ${config.store.shown}: ${counted(report)}`)
}

function asJson(report: CheckReport): object {
  return { ok: report.findings.length === 0, ...report }
}

function verdict({ findings, omitted }: CheckReport): string {
  const number = findings.length + omitted
  if (number === 0) return 'fine: nothing found'
  return `${number} ${number === 1 ? 'violation' : 'violations'} found`
}

function counted({ counts }: CheckReport): string {
  const { partitions, events, records, index, limits } = counts
  return `${partitions} partitions, ${events} evidence records, ${records} records, ${index} index entries, ${limits} limits`
}

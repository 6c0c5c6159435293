import { randomBytes } from 'node:crypto'
import { openArchive, openStore, setTimeOf } from '../../app/store.ts'
import { rebaseCharges, rebaseRecords, type Span } from '../../gateway/integrity/rebase-time.ts'
import type { Config } from '../../settings/config.ts'
import { CliFailure } from '../terminal/failure.ts'
import { orExplain } from './store-failure.ts'

/** A smaller lead ends by itself. */
const LEAST_MS = 60_000

/** `countersign store rebase-time`: brings a stopped store back to the present after its clock was ahead. */
export async function rebaseTimeOf(config: Config): Promise<void> {
  const { from, to } = await orExplain('set the time of the store back', () => rebase(config))
  console.log(`the time of ${config.store.shown} was set back from ${iso(from)} to ${iso(to)}`)
  console.log('every earlier approval and proof is void; waiting threads can still be decided')
}

const iso = (ms: number): string => new Date(ms).toISOString()

async function rebase(config: Config): Promise<Span> {
  const commitId = (): string => `rebase.${randomBytes(12).toString('base64url')}`
  const store = await openStore(config)
  let span: Span
  let charges: Awaited<ReturnType<typeof rebaseRecords>>
  try {
    const archive = await openArchive(config)
    try {
      span = { from: await archive.time(), to: config.store.kind === 'embedded' ? Date.now() : archive.now() }
      if (span.from - span.to < LEAST_MS)
        throw new CliFailure(
          `the time of the store is right: its latest is ${iso(span.from)}, and the clock reads ${iso(span.to)}`,
        )
      charges = await rebaseRecords(store, archive, { span, commitId })
    } finally {
      await archive.close()
    }
  } finally {
    await store.close()
  }
  await setTimeOf(config, span.to)
  const back = await openStore(config)
  try {
    await rebaseCharges(back, charges, { to: span.to, commitId })
  } finally {
    await back.close()
  }
  return span
}

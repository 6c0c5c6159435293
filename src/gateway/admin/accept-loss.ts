import type { LossRequest, LossView } from '../../contract/checkpoint.ts'
import { GatewayError } from '../../contract/errors.ts'
import { ADMIN } from '../../domain/evidence.ts'
import { TilesUnavailable, type Write } from '../../store/store.ts'
import { WIDTH } from '../../tiles/layout.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime, record } from '../core/event-record.ts'
import { ALL } from '../core/expiry-index.ts'
import { INDEX } from '../core/indexes.ts'
import { legalHoldsNow } from '../core/legal-holds.ts'
import { filesAfter, lostFile, type RecordFile } from '../core/record-files.ts'
import { put, read, remove, SYSTEM, unchanged } from '../core/records.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'
import { instancesNow } from '../jobs/instances.ts'
import { HEAD } from '../jobs/publish-tiles.ts'

/*
 * Accepts that record files are lost, which left the store (docs/how-to/lost-tiles.md). A preview asks every instance,
 * by a record of the store, which of the files it cannot read. Each answers with its reports. Files that no instance
 * can read are lost. One commit after another then writes `log.lost`, marks the files, and deletes their disclosures.
 */

/** How long the answers to a question count, ms. */
export const ASKED_MS = 600_000
/** Files of one commit, whose disclosures and erased records stay below its limit. */
const TOGETHER = 16

/** @throws GatewayError `not_lost`, `under_legal_hold`; as `transact` does */
export async function acceptLoss(deps: Deps, request: LossRequest): Promise<LossView> {
  const files = await storeCall(() => filesBelow(deps, request))
  if (request.preview === true) await ask(deps, request, files)
  const found = await answers(deps, request, files)
  const { view, lost } = found
  if (request.preview === true || view.waiting.length > 0) return view
  if (lost.length === 0)
    throw new GatewayError('not_lost', 'a gateway can read all of these records: nothing is lost')
  for (let i = 0; i < lost.length;) {
    const run = lost
      .slice(i, i + TOGETHER)
      .filter(({ last }, at) => last === (lost[i]?.last ?? 0) + at * WIDTH)
    await lose(deps, request, run)
    i += run.length
  }
  return view
}

/** The files before a number that are not lost yet. @throws GatewayError `not_lost` */
async function filesBelow(deps: Deps, { tenant, before }: LossRequest): Promise<readonly RecordFile[]> {
  const files: RecordFile[] = []
  for (let page = await filesAfter(deps.store, tenant, 0); page.length > 0;) {
    files.push(...page)
    page = await filesAfter(deps.store, tenant, page.at(-1)?.last ?? 0)
  }
  const isEnd = files.some(({ last }) => last === before - 1)
  const end = files.at(-1)?.last ?? 0
  if (!isEnd)
    throw new GatewayError(
      'not_lost',
      `record files of ${tenant} end before record ${WIDTH + 1}, ${2 * WIDTH + 1} and so on up to ${end + 1}: records from ${end + 1} on are in the store`,
    )
  return files.filter(({ last, isLost }) => last < before && !isLost)
}

async function ask(deps: Deps, { tenant }: LossRequest, files: readonly RecordFile[]): Promise<void> {
  const lasts = files.map(({ last }) => last)
  await transact(deps, SYSTEM, async (): Promise<Plan<void>> => {
    const known = await read(deps.store, SYSTEM, 'loss', ALL)
    const now = deps.store.now()
    const isAsked = known?.value.tenant === tenant && known.value.files.join() === lasts.join()
    if (isAsked && now - known.value.at < ASKED_MS / 2) return { answer: undefined }
    const question = { id: deps.nextId(), tenant, files: lasts, at: now }
    return {
      answer: undefined,
      guards: [unchanged('loss', ALL, known)],
      writes: [put('loss', ALL, question)],
    }
  })
}

/** The files that no instance can read, as they said within the last seconds. */
async function answers(
  deps: Deps,
  { tenant }: LossRequest,
  files: readonly RecordFile[],
): Promise<{ readonly view: LossView; readonly lost: readonly RecordFile[] }> {
  const question = (await storeCall(() => read(deps.store, SYSTEM, 'loss', ALL)))?.value
  if (question?.tenant !== tenant || deps.store.now() - question.at > ASKED_MS)
    throw new GatewayError('not_lost', 'ask the gateways first, with `preview`')
  const instances = await instancesNow(deps)
  const waiting = instances.filter(({ loss }) => loss?.id !== question.id).map(({ host }) => host)
  if (instances.length === 0 || waiting.length > 0) return { view: { waiting, lost: [] }, lost: [] }
  const unread = instances.map(({ loss }) => new Set(loss?.files))
  const lost = files.filter(({ last }) => unread.every((one) => one.has(last)))
  const ranges: { from: number; to: number; until: string }[] = []
  for (const { last, time } of lost) {
    const before = ranges.at(-1)
    const until = isoTime(time)
    if (before?.to === last - WIDTH) Object.assign(before, { to: last, until })
    else ranges.push({ from: last - WIDTH + 1, to: last, until })
  }
  return { view: { waiting, lost: ranges }, lost }
}

/** Loses some files, one after another in the log. */
async function lose(
  deps: Deps,
  { tenant, reason }: LossRequest,
  files: readonly RecordFile[],
): Promise<void> {
  const from = (files[0]?.last ?? 0) - WIDTH + 1
  const to = files.at(-1)?.last ?? 0
  await Promise.all(files.map(({ last }) => refuseReadable(deps, tenant, last - WIDTH + 1)))
  await transact(deps, tenant, async (): Promise<Plan<void>> => {
    const [holds, before, disclosed, tiles, erased, now] = await Promise.all([
      legalHoldsNow(deps, tenant),
      read(deps.store, tenant, 'loss', ALL),
      read(deps.store, tenant, 'disclosed', ALL),
      read(deps.store, tenant, 'tiles', HEAD),
      deps.store.range(tenant, INDEX.erased, { min: from, max: to, limit: to }),
      filesAfter(deps.store, tenant, from - 1, files.length),
    ])
    const [hold] = holds.all.holds
    if (hold !== undefined)
      throw new GatewayError('under_legal_hold', `a legal hold may cover lost records: ${hold.reason}`)
    // another administrator was quicker
    if (now.some(({ isLost }) => isLost)) return { answer: undefined }
    const numbers = Array.from({ length: to - from + 1 }, (_, i) => from + i)
    const rewritten = new Set(erased.map(({ score }) => score))
    const details = { from, reason, roots: files.map(({ root }) => root), to }
    return {
      answer: undefined,
      guards: [
        holds.guard,
        unchanged('loss', ALL, before),
        unchanged('disclosed', ALL, disclosed),
        unchanged('tiles', HEAD, tiles),
      ],
      writes: [
        // two administrators never lose the same files
        put('loss', ALL, {
          id: deps.nextId(),
          tenant,
          files: files.map(({ last }) => last),
          at: deps.store.now(),
        }),
        ...files.flatMap(lostFile),
        ...numbers
          .filter((number) => !rewritten.has(number))
          .map((number): Write => ({ op: 'forget', number })),
        ...erased.flatMap(({ member }): Write[] => [
          remove('erased', member),
          { op: 'index', index: INDEX.erased, member },
        ]),
        // the next publication looks at the place anew
        ...(tiles === undefined ? [] : [remove('tiles', HEAD)]),
      ],
      evidence: [record(deps.store.now(), ADMIN, { tenant }, { type: 'log.lost', details })],
    }
  })
}

/** Refuses a loss of a file that this gateway can read. */
async function refuseReadable({ store }: Deps, tenant: string, from: number): Promise<void> {
  const [first] = await storeCall(() =>
    store.events(tenant, from - 1, 1).catch((error: unknown) => {
      if (error instanceof TilesUnavailable) return []
      throw error
    }),
  )
  if (first?.number === from) throw new GatewayError('not_lost', `record ${from} can be read`)
}

import type { Confirmed } from '../evidence/confirmed.ts'
import type { Deps } from '../gateway/core/deps.ts'
import { StoreIndeterminate, StoreUnavailable, type Store } from '../store/store.ts'
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { LogIdentity } from '../gateway/jobs/checkpoints.ts'
import {
  differenceOf,
  type Instance,
  listInstances,
  reportInstance,
  retireInstance,
} from '../gateway/jobs/instances.ts'
import { createLossWatch, type LossWatch } from '../gateway/jobs/loss-watch.ts'
import { packageVersion } from '../system/package.ts'

/** Time between two reports of an instance, ms. */
const EVERY_MS = 2_000

export interface Reports extends WriteProbe {
  readonly watch: LossWatch
}

export interface ReportParts {
  readonly confirmed: Confirmed
  readonly identity: LogIdentity
  /** The store itself, which is closed when it has lost records. */
  readonly store: Store
  /** The records that this instance cannot read, and its answer to the question of a loss. */
  readonly tiles: () => Pick<Instance, 'unreadable' | 'loss'>
  /** Called before each report. */
  readonly refresh: () => Promise<void>
  readonly log: Pick<Logger, 'error' | 'warn'>
  /** Longest time in which the bundles of the instances may differ, ms. */
  readonly rolloutMs: number
  readonly everyMs: number | undefined
}

const REMEDY =
  'it decides and signs nothing more; restore the store from a backup if the loss was not intended, then start every gateway again (docs/runbooks/CountersignStoreLost.md)'

/**
 * Reports this instance and its bundle to the others. Each report also proves that the store accepts writes, and
 * follows a look for lost records. After a loss, the store is closed: every call fails (S13) until the next start.
 */
export function startReports(
  deps: Deps,
  { confirmed, identity, store, tiles, refresh, log, rolloutMs, everyMs = EVERY_MS }: ReportParts,
): Reports {
  const instance = {
    id: randomBytes(9).toString('base64url'),
    host: hostname(),
    version: packageVersion(),
    startedAt: deps.store.now(),
  }
  const watch = createLossWatch(
    { store },
    {
      log: identity.name,
      instance: instance.id,
      confirmed,
      onLost: (reason) => {
        log.error({ reason }, `the store has lost records of this gateway: ${REMEDY}`)
        void store.close()
      },
    },
  )
  const sayOdd = oddSayer(deps, { id: instance.id, rolloutMs, log })
  let reported = false
  const write = async (): Promise<void> => {
    await watch.check()
    await refresh()
    watch.reported(await reportInstance(deps, { ...instance, ...tiles() }))
    reported = true
    await sayOdd()
  }
  const probe = startWriteProbe({ confirmed, write, everyMs, deadlineMs: deps.storeDeadlineMs })
  return {
    watch,
    refusal: () => watch.lost() ?? probe.refusal(),
    soon: () => probe.soon(),
    async close() {
      await probe.close()
      if (reported) await retireInstance(deps, instance.id).catch(() => undefined)
    },
  }
}

/** Number of reports between two comparisons with the other instances. */
const COMPARE_EVERY = 15

/** Returns a function that logs once when this instance has kept another bundle than most for longer than a rollout. */
function oddSayer(
  deps: Deps,
  {
    id,
    rolloutMs,
    log,
  }: { readonly id: string; readonly rolloutMs: number; readonly log: Pick<Logger, 'warn'> },
): () => Promise<void> {
  let rounds = 0
  let said: string | undefined
  return async () => {
    if (rounds++ % COMPARE_EVERY !== 0) return
    const { instances } = await listInstances(deps)
    const difference = differenceOf(instances)
    const own = difference?.odd.find((one) => one.id === id)
    if (difference === undefined || own === undefined || deps.store.now() - difference.since < rolloutMs)
      return
    const revision = own.revision ?? 'none'
    if (said !== revision)
      log.warn(
        { revision, since: new Date(difference.since).toISOString() },
        'this gateway decides by other policies than the other gateways of its deployment: `countersign policies status` lists them',
      )
    said = revision
  }
}

/**
 * Watches whether the store accepts writes. A store may answer every read and refuse every write, for example with a
 * full disk, or Redis without memory or replicas. The store must therefore have acknowledged a write within the last
 * seconds. Without other writes, the report of the instance serves as that write.
 */
export interface WriteProbe {
  /** Returns a clause while the store refuses writes or has acknowledged no write for too long; otherwise undefined. */
  refusal(): string | undefined
  /** Writes soon, because the report has changed. */
  soon(): void
  close(): Promise<void>
}

export interface ProbeOptions {
  readonly confirmed: Confirmed
  /** Writes the report of this instance. */
  readonly write: () => Promise<void>
  readonly everyMs: number
  /** Maximum duration of one write, ms. */
  readonly deadlineMs: number
}

/** Time between two attempts while writes fail, ms. */
const RETRY_MS = 500

export function startWriteProbe({ confirmed, write, everyMs, deadlineMs }: ProbeOptions): WriteProbe {
  const retryMs = Math.min(RETRY_MS, everyMs)
  const staleMs = 2 * everyMs + deadlineMs + RETRY_MS
  let failure: string | undefined
  let timer: NodeJS.Timeout | undefined
  let underWay: Promise<void> | undefined
  let closed = false
  const schedule = (ms: number): void => {
    clearTimeout(timer)
    if (!closed) timer = setTimeout(() => void probe(), ms).unref()
  }
  const attempt = async (): Promise<void> => {
    try {
      await write()
      confirmed.at = performance.now()
      failure = undefined
    } catch (error) {
      failure = reasonOf(error)
    }
    underWay = undefined
    schedule(failure === undefined ? everyMs : retryMs)
  }
  const probe = (): Promise<void> => (underWay ??= attempt())
  schedule(Math.ceil(everyMs / 4))
  confirmed.onFailed = (error) => {
    const isAway = error instanceof StoreUnavailable || error instanceof StoreIndeterminate
    if (isAway && failure === undefined && underWay === undefined) schedule(retryMs / 5)
  }
  return {
    refusal() {
      if (failure !== undefined) return `it refuses writes: ${failure}`
      const silentMs = performance.now() - confirmed.at
      return silentMs <= staleMs
        ? undefined
        : `no write was acknowledged for ${Math.round(silentMs / 1_000)} s`
    },
    soon: () => schedule(Math.ceil(everyMs / 20)),
    async close() {
      closed = true
      clearTimeout(timer)
      await underWay
    },
  }
}

/** Returns the store's own reason: the message of the innermost cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? reasonOf(cause) : message
}

import { DEFAULT_LOAD_TIMEOUT_MS } from '../text/bounds.ts'
import { compileBundle } from '../evaluate/compile.ts'
import type { DiagnosticCode } from '../report/diagnostics.ts'
import { createAssembly, type LoadPart } from './parts.ts'
import type { Texts } from './directory.ts'
import { type BundleChild, FROM_MESSAGE, startBundleChild } from './start.ts'
import type { LoadResult } from './load.ts'
import { processorTimeOf } from '../../system/processor-time.ts'
import { createPayloadChecks, type PayloadChecks } from '../schema/payload.ts'
import { fileDiagnostic } from '../yaml/source.ts'

export interface ChildLoadOptions {
  /** A child process that already runs for the same directory, but not in the background. */
  readonly started?: BundleChild | undefined
  /** Files that take the place of those of the directory. */
  readonly texts?: Texts
  /** The URL of the built bundle-child.js. Default: next to this module. */
  readonly childUrl?: URL
  /** The maximum processor time of a child process. Default 20 s. */
  readonly timeoutMs?: number
  /** The delay before a second child starts in addition to a background child. Default 1 s. */
  readonly patienceMs?: number
  /** Compiled schemas, which are kept between loads. */
  readonly checks?: PayloadChecks
  /** Ends the load. */
  readonly signal?: AbortSignal
}

/**
 * Loads a bundle in a child process, so that this process receives only checked data, in parts. The child runs at low
 * priority. If the child is too slow, a second child starts at normal priority, and the first answer counts. Both
 * children have exited when the promise settles. The promise never rejects.
 */
export async function loadBundleInChild(dir: string, options: ChildLoadOptions = {}): Promise<LoadResult> {
  const {
    timeoutMs = DEFAULT_LOAD_TIMEOUT_MS,
    patienceMs = DEFAULT_PATIENCE_MS,
    checks = createPayloadChecks(),
    texts,
    started,
    childUrl,
    signal,
  } = options
  const within = { timeoutMs, checks, signal, texts }
  const place = texts ? FROM_MESSAGE : dir
  const load = (inBackground: boolean, until: AbortSignal): Promise<LoadResult | undefined> =>
    received(startBundleChild(place, { url: childUrl, inBackground }), { ...within, signal: until })
  try {
    const loaded =
      started && !texts ? await received(started, within) : await hedged(load, patienceMs, signal)
    return (
      loaded ??
      broken('load-timeout', `the check of the bundle took more than ${timeoutMs} ms of processor time`)
    )
  } catch (error) {
    const { code = 'unexpected error' } = error as NodeJS.ErrnoException
    return broken('load-crashed', `no process can be started to check the bundle: ${code}`)
  }
}

const DEFAULT_PATIENCE_MS = 1_000

/** Returns the first answer, and terminates the other child. */
async function hedged(
  load: (inBackground: boolean, until: AbortSignal) => Promise<LoadResult | undefined>,
  patienceMs: number,
  signal: AbortSignal | undefined,
): Promise<LoadResult | undefined> {
  const over = new AbortController()
  const until = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal])
  const background = load(true, until)
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<'impatient'>((resolve) => {
    timer = setTimeout(() => resolve('impatient'), patienceMs)
  })
  try {
    const first = await Promise.race([background, patience])
    if (first !== 'impatient') return first
    const beside = load(false, until)
    const winner = (await Promise.race([background, beside])) ?? (await beside)
    over.abort()
    await Promise.allSettled([background, beside])
    return winner
  } finally {
    clearTimeout(timer)
    over.abort()
  }
}

interface Within {
  readonly timeoutMs: number
  readonly checks: PayloadChecks
  readonly signal: AbortSignal | undefined
  readonly texts: Texts
}

const LOOK_EVERY_MS = 500
/** A child on a busy machine gets little processor time. It may run this many times as long as that. */
const MOST_WAITS = 15

/** Receives the bundle from a child; undefined when the child takes too long. */
async function received(
  child: BundleChild,
  { timeoutMs, checks, signal, texts }: Within,
): Promise<LoadResult | undefined> {
  const parts = new Promise<LoadResult>((resolve) => receive(child, { checks, texts }, resolve))
  const stop = (): void => void child.end()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    const begun = performance.now()
    const look = (): void => {
      const passed = performance.now() - begun
      const used = processorTimeOf(child.pid ?? 0) ?? passed
      if (used >= timeoutMs || passed >= MOST_WAITS * timeoutMs) resolve(undefined)
    }
    timer = setInterval(look, Math.min(timeoutMs, LOOK_EVERY_MS))
  })
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([parts, late])
  } finally {
    clearInterval(timer)
    signal?.removeEventListener('abort', stop)
    await child.end()
  }
}

function receive(
  child: BundleChild,
  { checks, texts }: Pick<Within, 'checks' | 'texts'>,
  resolve: (result: LoadResult) => void,
): void {
  const assembly = createAssembly()
  const take = (part: LoadPart): void => {
    if (part.kind === 'failed') {
      const { diagnostics, revision, newer } = part
      resolve({ ok: false, diagnostics, revision, newer })
    } else if (part.kind === 'done') {
      const ir = assembly.bundle()
      resolve(
        ir
          ? { ok: true, snapshot: compileBundle(ir, checks) }
          : broken('load-crashed', 'the process that checks the bundle sent no bundle'),
      )
    } else {
      assembly.add(part)
      // Other work on the event loop runs first.
      setImmediate(() => child.next())
    }
  }
  child.onPart((part) => {
    try {
      take(part)
    } catch {
      resolve(broken('load-crashed', 'the process that checks the bundle sent an incomplete one'))
    }
  })
  child.next(texts)
  void child.ended.then((how) => {
    const what =
      child.pid === undefined
        ? 'no process can be started to check the bundle'
        : 'the process that checks the bundle ended before it had sent it'
    resolve(broken('load-crashed', `${what}: ${how}`))
  })
}

function broken(code: DiagnosticCode, message: string): LoadResult {
  return { ok: false, diagnostics: [fileDiagnostic(code, '.', message)] }
}

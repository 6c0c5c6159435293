import { DEFAULT_LOAD_TIMEOUT_MS } from './bounds.ts'
import { compileBundle } from './compile.ts'
import type { DiagnosticCode } from './diagnostics.ts'
import { createAssembly, type LoadPart } from './directory-parts.ts'
import { type BundleWorker, startBundleWorker } from './directory-start.ts'
import type { LoadResult } from './load.ts'
import { createPayloadChecks, type PayloadChecks } from './payload.ts'
import { fileDiagnostic } from './source.ts'

export interface WorkerLoadOptions {
  /** A worker for the same directory that was started already. */
  readonly started?: BundleWorker | undefined
  /** The built directory-worker.js. Default: beside this module. */
  readonly workerUrl?: URL
  /** Wall time after which the worker is ended and the load fails. Default 20 s. */
  readonly timeoutMs?: number
  /** Compiled schemas, kept from load to load. */
  readonly checks?: PayloadChecks
}

/**
 * Loads a bundle in a worker thread of its own: whatever the files hold, this thread only receives checked data, in parts.
 * The worker is gone when the promise settles. Never rejects.
 */
export async function loadBundleInWorker(dir: string, options: WorkerLoadOptions = {}): Promise<LoadResult> {
  const { timeoutMs = DEFAULT_LOAD_TIMEOUT_MS, checks = createPayloadChecks() } = options
  const running = options.started ?? startBundleWorker(dir, { url: options.workerUrl, inBackground: true })
  const parts = new Promise<LoadResult>((resolve) => receive(running, checks, resolve))
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<LoadResult>((resolve) => {
    timer = setTimeout(
      () => resolve(broken('load-timeout', `the bundle took longer than ${timeoutMs} ms to check`)),
      timeoutMs,
    )
  })
  try {
    return await Promise.race([parts, late])
  } finally {
    clearTimeout(timer)
    await running.worker.terminate()
  }
}

function receive(
  { worker, ended }: BundleWorker,
  checks: PayloadChecks,
  resolve: (result: LoadResult) => void,
): void {
  const assembly = createAssembly()
  worker.on('message', (part: LoadPart) => {
    if (part.kind === 'failed') resolve({ ok: false, diagnostics: part.diagnostics, revision: part.revision })
    else if (part.kind === 'done') {
      const ir = assembly.bundle()
      resolve(
        ir
          ? { ok: true, snapshot: compileBundle(ir, checks) }
          : broken('load-crashed', 'the worker sent no bundle'),
      )
    } else {
      assembly.add(part)
      // After other work of the event loop has had its turn.
      setImmediate(() => worker.postMessage('next'))
    }
  })
  worker.postMessage('next')
  void ended.then((error) => {
    const why =
      error === undefined
        ? 'the worker ended before it had sent the bundle'
        : `checking the bundle failed: ${codeOf(error)}`
    resolve(broken('load-crashed', why))
  })
}

function broken(code: DiagnosticCode, message: string): LoadResult {
  return { ok: false, diagnostics: [fileDiagnostic(code, '.', message)] }
}

function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null)?.code
  return typeof code === 'string' ? code : 'unexpected error'
}

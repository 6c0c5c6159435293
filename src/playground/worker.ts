import { Buffer } from './node.ts'
import type { BundleText } from '../policy/check/check.ts'
import { evaluate, exampleRequest, type Evaluated } from './evaluate.ts'

// policy code measures texts in bytes by `Buffer`
Object.assign(globalThis, { Buffer })

/** A message of the page. Without a request, the worker takes one from the bundle's tests. */
export interface Question {
  readonly id: number
  readonly files: readonly BundleText[]
  readonly request: string | undefined
}

export interface Reply extends Evaluated {
  readonly id: number
  readonly request: string
}

/** The part of a dedicated worker's global scope that this file uses (HTML, Web workers). */
interface WorkerScope {
  addEventListener(type: 'message', listener: (event: { readonly data: Question }) => void): void
  postMessage(reply: Reply): void
}
const scope = globalThis as unknown as WorkerScope

scope.addEventListener('message', ({ data: { id, files, request } }) => {
  const asked = request ?? exampleRequest(files) ?? '{}'
  void evaluate(files, asked, Date.now()).then((evaluated) =>
    scope.postMessage({ id, request: asked, ...evaluated }),
  )
})

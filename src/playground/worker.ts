import { Buffer } from './node.ts'
import type { BundleText } from '../policy/check/check.ts'
import { evaluate, exampleRequest, type Evaluated } from './evaluate.ts'

// policy reads the length of texts in bytes
Object.assign(globalThis, { Buffer })

/** What the page asks. Without a request, an example of the bundle is made one. */
export interface Question {
  readonly id: number
  readonly files: readonly BundleText[]
  readonly request: string | undefined
}

export interface Reply extends Evaluated {
  readonly id: number
  readonly request: string
}

/** What a dedicated worker has of its page (HTML, Web workers). */
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

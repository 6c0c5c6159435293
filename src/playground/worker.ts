import { Buffer } from './node.ts'
import { standAlone } from './alone.ts'
import { evaluate, exampleRequest } from './evaluate.ts'
import type { Question, Reply } from './messages.ts'

standAlone(globalThis)

// policy code measures texts in bytes by `Buffer`
Object.assign(globalThis, { Buffer })

/** The part of a dedicated worker's global scope that this file uses (HTML, Web workers). */
interface WorkerScope {
  addEventListener(type: 'message', listener: (event: { readonly data: Question }) => void): void
  postMessage(reply: Reply): void
}
const scope = globalThis as unknown as WorkerScope

scope.addEventListener('message', ({ data }) => void answer(data).then((reply) => scope.postMessage(reply)))

async function answer({ id, files, request }: Question): Promise<Reply> {
  try {
    const asked = request ?? exampleRequest(files) ?? '{}'
    return { id, request: asked, ...(await evaluate(files, asked, Date.now())) }
  } catch (error) {
    // for example in a browser that does not let the worker compile code
    return { id, request: request ?? '{}', diagnostics: [], problem: String(error) }
  }
}

import type { JsonObject } from '../contract/json.ts'
import {
  errorMessage,
  failureMessage,
  type Id,
  INTERNAL_ERROR,
  lineOf,
  METHOD_NOT_FOUND,
  withEnd,
} from './message.ts'
import type { Progress } from './progress.ts'
import type { Questions } from './questions.ts'
import {
  readServer,
  type ServerAnswer,
  type ServerProgress,
  type ServerUnpinned,
  type ServerUnreadable,
} from './server-message.ts'
import type { Contracts } from './tools.ts'
import { passedPinned } from './unpinned.ts'

/** The proxy's side towards the client, and the requests whose answers are due. */
export interface Due {
  /** Open calls by id. 1 and '1' are two ids. */
  readonly underWay: ReadonlyMap<Id, DueCall>
  /** The client's other requests that the server has not answered. */
  readonly relayed: Set<Id>
  /** The proxy's own requests to the server. */
  readonly questions: Questions
  readonly contracts: Contracts
  readonly passUnpinned: boolean
  readonly toServer: (line: Uint8Array) => void
  readonly toClient: (line: Uint8Array) => void
  readonly note: (text: string) => void
  /** Ends held calls whose tool has changed. */
  readonly reviewHeld: () => void
}

export interface DueCall {
  readonly progress: Progress
  /** Present once the call was sent to the server. */
  readonly sent?: { readonly answer: (answer: ServerAnswer) => void }
}

/** Handles a line of the server. Passes it only if every client reads it as the proxy does. */
export function fromServer(due: Due, line: Uint8Array): void {
  const said = readServer(line)
  switch (said.kind) {
    case 'unreadable':
      return drop(due, said)
    case 'outdated':
      due.contracts.outdated()
      due.reviewHeld()
      break
    case 'unpinned':
      if (!due.passUnpinned) return keepBack(due, said)
      break
    case 'answer':
      return answered(due, said)
    case 'progress':
      // the specification requires progress to increase, also beyond the proxy's own messages
      if (isOld(due, said)) return
      break
    case 'other':
  }
  due.toClient(withEnd(line))
}

/** Drops a line. Requests whose answer it may be end with an error, because no other answer will come. */
function drop(due: Due, { why, mayAnswer }: Pick<ServerUnreadable, 'why' | 'mayAnswer'>): void {
  due.note(`a line of the server was dropped: ${why}`)
  for (const [id, { sent }] of due.underWay) {
    if (sent === undefined || !mayAnswer(id)) continue
    const text = `The answer of the server was dropped: ${why}. Whether the tool did its work is unknown.`
    const line = asLine(failureMessage(id, text, {}))
    sent.answer({ kind: 'answer', id, line, failed: true, result: undefined })
  }
  for (const id of due.relayed) {
    if (!mayAnswer(id)) continue
    due.relayed.delete(id)
    due.toClient(lineOf(errorMessage(id, INTERNAL_ERROR, `the answer of the server was dropped: ${why}`)))
  }
}

/** Returns the message as a line without its end. */
const asLine = (message: JsonObject): Uint8Array => lineOf(message).subarray(0, -1)

/** Keeps a notification from the client, and refuses a request. */
function keepBack({ note, toServer }: Due, { id }: ServerUnpinned): void {
  if (id === undefined) return
  const why = 'no contract pins what a server asks the model: `countersign mcp --unpinned` passes it'
  note(`refused: ${why}`)
  toServer(lineOf(errorMessage(id, METHOD_NOT_FOUND, why)))
}

/** Hands an answer to the proxy's own request, to the open call or to the client. */
function answered(due: Due, said: ServerAnswer): void {
  const { underWay, relayed, note, questions, contracts, toClient } = due
  if (questions.answered(said)) return
  const one = underWay.get(said.id)
  if (one?.sent !== undefined) return one.sent.answer(said)
  if (one !== undefined)
    return note('the server answered a call that it did not receive; the answer was dropped')
  if (!relayed.delete(said.id))
    return drop(due, { why: 'it answers no open request', mayAnswer: (id) => String(id) === String(said.id) })
  const listed = said.result && contracts.answered(said.id, said.result)
  if (listed !== undefined) void passList(due, said, listed)
  else if (!passedPinned(due, said)) toClient(withEnd(said.line))
}

const isOld = ({ underWay }: Due, said: ServerProgress): boolean =>
  [...underWay.values()].some((one) => one.progress.isBehind(said))

/** Passes a list of tools to the client, unchanged unless it has a refused tool. */
async function passList(
  { reviewHeld, toClient }: Due,
  { id, line, result }: ServerAnswer,
  listed: Promise<JsonObject>,
): Promise<void> {
  const shown = await listed
  reviewHeld()
  toClient(shown === result ? withEnd(line) : lineOf({ jsonrpc: '2.0', id, result: shown }))
}
